// A page that is being worked out: look again until it is there.
setTimeout(() => location.reload(), 800);
