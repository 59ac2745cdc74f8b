// A system call as a shell command, for what no program of a small Debian does. By number: perl has no names for them.
const NUMBERS = {
  x64: {
    adjtimex: 159,
    capset: 126,
    delete_module: 176,
    keyctl: 250,
    mlockall: 151,
    setgid: 106,
    sethostname: 170,
    syslog: 103,
  },
  arm64: {
    adjtimex: 171,
    capset: 91,
    delete_module: 106,
    keyctl: 219,
    mlockall: 230,
    setgid: 144,
    sethostname: 161,
    syslog: 116,
  },
} as const;
const numbers = NUMBERS[process.arch as keyof typeof NUMBERS];

/** Prints `done`, or `failed:` and the error. The arguments are perl, and can use the variables of `memory`. */
export function systemCall(name: keyof typeof numbers, ...args: readonly string[]): string {
  const given = [numbers[name], ...args].join(', ');
  const memory = 'my $zeros = "\\0" x 256; my $name = "isthmus-none"; my $caps = pack("L2", 0x20080522, 0);';
  return `perl -e '${memory} my $r = syscall(${given}); print $r < 0 ? "failed: $!\\n" : "done\\n"'`;
}
