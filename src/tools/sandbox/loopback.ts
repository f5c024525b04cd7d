/** Starting loopback in a new network namespace. No program that can do it exists on all systems. */

/** `SIOCGIFFLAGS` and `SIOCSIFFLAGS` on `lo`, for systems without `ip` and `ifconfig`. */
const PERL = [
  'use Socket; socket(my $s, PF_INET, SOCK_DGRAM, 0) or exit 1;',
  'my $r = pack("a16 s x22", "lo", 0); ioctl($s, 0x8913, $r) or exit 1;',
  'my ($n, $f) = unpack("a16 s", $r); ioctl($s, 0x8914, pack("a16 s x22", "lo", $f | 1)) or exit 1;',
].join(' ');
const PYTHON = [
  'import fcntl, socket, struct; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)',
  'f = struct.unpack("16sh", fcntl.ioctl(s, 0x8913, struct.pack("16sh22x", b"lo", 0))[:18])[1]',
  'fcntl.ioctl(s, 0x8914, struct.pack("16sh22x", b"lo", f | 1))',
].join('; ');

/** Shell command that starts loopback. Fails if the system has none of the programs. */
export const LOOPBACK =
  `{ ip link set lo up || ifconfig lo up || busybox ip link set lo up || perl -e '${PERL}' || ` +
  `python3 -c '${PYTHON}'; } 2> /dev/null`;
