ListenAddress 127.0.0.1
Port 18222
HostKey /tmp/st/h
AuthorizedKeysFile /tmp/st/ak
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
