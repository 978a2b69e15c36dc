#!/bin/sh
# Keeps one redis-server alive for as long as any simfleet process uses its folder, and stops it after the last.
# $1 folder   $2 redis-server   $3 unix socket
#
# The lock (fd 9) is inherited by the server, so two servers can never share one append-only file, whichever process was killed.
# Every simfleet process holds the named pipe `alive` open; end of file on it means that the last one has exited. The
# server then gets a TERM and completes its file. A server that was killed is restarted.
folder=$1
server_binary=$2
socket=$3

exec 9>"$folder/lock"
flock -n 9 || exit 0

stopping=
server=
trap 'stopping=1; [ -n "$server" ] && kill -TERM "$server" 2>/dev/null' TERM

# Opened for both at first, since opening for reading alone would wait for ever where everybody has left already.
exec 8<>"$folder/alive" 7<"$folder/alive" 8>&-

# Not holding fd 9: this one may outlive a killed supervisor (whose id a kill may still find, as a zombie), so it stops
# the server itself as well, while the lock says that there is one.
(
  exec 9>&-
  cat <&7 >/dev/null
  # A server that is stopping still answers for a moment: nobody who comes now may find it.
  rm -f "$folder/redis.sock"
  kill -TERM $$ 2>/dev/null
  flock -n "$folder/lock" true || kill -TERM "$(cat "$folder/redis.pid")" 2>/dev/null
) &
exec 7<&-

attempts=0
while [ -z "$stopping" ] && [ "$attempts" -lt 50 ]; do
  attempts=$((attempts + 1))
  "$server_binary" --port 0 --unixsocket "$socket" --unixsocketperm 700 --dir "$folder" \
    --appendonly yes --appendfsync everysec --save '' --maxmemory-policy noeviction \
    --pidfile "$folder/redis.pid" --logfile "$folder/redis.log" --daemonize no &
  server=$!
  [ -z "$stopping" ] || kill -TERM "$server" 2>/dev/null # the signal came between the two lines above
  wait "$server"
  [ -n "$stopping" ] || sleep 0.2
done
wait "$server"
