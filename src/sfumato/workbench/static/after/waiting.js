// There is no map yet: as soon as a run has measured something, there is.
document.body.setAttribute("data-ready", "");
