"""Publishing what was made elsewhere: the file as it is, and a certificate of what could be confirmed."""
