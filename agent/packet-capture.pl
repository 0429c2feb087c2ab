#!/usr/bin/perl
# Keeps the headers of the packets of the last minute, and gives those of a connection when asked.
#
#   packet-capture.pl MEGABYTES
#
# The kernel does the work: a filter lets TCP and the errors of ICMP through and cuts each packet where
# its payload begins, and what is left goes to a ring in memory that the kernel fills by itself. Nothing
# is done here per packet, only per block of the ring: hold it, and give it back when it is old or room
# is needed. Packets are looked at when somebody asks.
#
# No payload is ever in this process, with one exception: the first 7 bytes of a segment that begins as
# a TLS handshake or alert does, which say of what kind it is. Errors of ICMP keep the headers they quote.
#
# Speaks over its standard streams. First it says
#
#   ready                     or   problem NAME TEXT, and ends
#
# then it answers, perhaps several at once and not in order:
#
#   NUMBER FAMILY LOCAL PORT REMOTE PORT FROM TO     packets between FROM and TO, ms of the epoch
#   NUMBER PACKETS LEFT_OUT BYTES, newline, records of a pcap file with nanoseconds (BYTES of them)
#
# Ends when its input does. Holds no right once the socket is open. Core modules only.
use strict;
use warnings;
use Config;
use Errno ();
use POSIX ();
use Socket qw(AF_INET AF_INET6 inet_pton);

use constant {
    AF_PACKET => 17, SOCK_DGRAM => 2, ETH_P_ALL => 0x0003,
    SOL_SOCKET => 1, SO_ATTACH_FILTER => 26, SO_LOCK_FILTER => 44,
    SOL_PACKET => 263, PACKET_RX_RING => 5, PACKET_VERSION => 10, TPACKET_V3 => 2,
    PROT_READ_WRITE => 3, MAP_SHARED => 1, TP_STATUS_USER => 1,
    CAPABILITY_VERSION => 0x20080522, PR_SET_NO_NEW_PRIVS => 38, PR_SET_DUMPABLE => 4, NOBODY => 65534,
    BLOCKS => 128,
    # Blocks are of as many as is needed: a multiple of the pages of every machine.
    PAGES_BYTES => 65_536,
    MAX_AGE_S => 60, LOOK_EVERY_S => 0.25, LOOK_SOON_S => 0.02,
    # Of one answer; about a megabyte. What is more is left out after the first.
    MAX_PACKETS => 8000, FIRST_PACKETS => 2000, CUT_PACKETS => 3000,
    # The same packet on two interfaces, such as a bond and its member.
    SAME_PACKET_NS => 1_000_000,
    NS => 1_000_000_000,
};

# Numbers of system calls: there is no other way to a ring from here.
my %calls = (
    x86_64  => { mmap => 9,   read => 0,  capset => 126, prctl => 157, clock_gettime => 228 },
    aarch64 => { mmap => 222, read => 63, capset => 91,  prctl => 167, clock_gettime => 113 },
    riscv64 => { mmap => 222, read => 63, capset => 91,  prctl => 167, clock_gettime => 113 },
);

sub give_up {
    my ($name, $text) = @_;
    syswrite(STDOUT, "problem $name $text\n");
    exit 1;
}

sub give_up_on {
    my ($what) = @_;
    my ($text, $name) = ("$!", grep { $!{$_} } keys %!);
    give_up($name // 'EIO', "$what: $text");
}

my ($machine) = $Config{archname} =~ /^([^-]+)/;
my $call = $calls{$machine} or give_up('ENOSYS', "the system calls of $machine are not known");

# --- the filter: which packets, and how much of each ---------------------------------------------

# The kernel's own small language; see "Linux Socket Filtering" in its documentation. Packets begin with
# their IP header here. Each line: label, operation, operand, and for jumps where to go if so, if not.
sub filter {
    my %operations = (
        byte => 0x30, half => 0x28, word => 0x20, byte_x => 0x50, length => 0x80,
        header_x => 0xb1, load_x => 0x01, save => 0x02, restore => 0x60,
        add => 0x04, and => 0x54, left => 0x64, right => 0x74, add_x => 0x0c, sub_x => 0x1c,
        to_x => 0x07, equal => 0x15, above => 0x25, at_least => 0x35, any => 0x45,
        keep => 0x06, keep_a => 0x16,
    );
    my ($protocol, $direction, $device) = map { 0xffff_f000 + $_ } 0, 4, 28;
    my @program = (
        # What loopback sends it receives as well: one of the two is enough.
        ['', 'half', $device],
        ['', 'equal', 772, '', 'family'],
        ['', 'byte', $direction],
        ['', 'equal', 4, 'no', ''],
        ['family', 'half', $protocol],
        ['', 'equal', 0x0800, 'ipv4', ''],
        ['', 'equal', 0x86dd, 'ipv6', 'no'],

        # Later fragments have no ports.
        ['ipv4', 'half', 6],
        ['', 'any', 0x1fff, 'no', ''],
        ['', 'header_x', 0],
        ['', 'byte', 9],
        ['', 'equal', 6, 'tcp', ''],
        ['', 'equal', 1, '', 'no'],
        ['', 'byte_x', 0],
        ['', 'equal', 3, 'error4', ''],
        ['', 'equal', 11, 'error4', ''],
        ['', 'equal', 12, 'error4', 'no'],
        ['error4', 'byte_x', 8 + 9],
        ['', 'equal', 6, '', 'no'],
        ['', 'byte_x', 8],
        ['', 'and', 0x0f],
        ['', 'left', 2],
        ['', 'add_x', 0],
        ['', 'add', 8 + 8],
        ['', 'keep_a', 0],

        ['ipv6', 'load_x', 40],
        ['', 'byte', 6],
        ['', 'equal', 6, 'tcp', ''],
        ['', 'equal', 58, '', 'no'],
        ['', 'byte', 40],
        ['', 'at_least', 1, '', 'no'],
        ['', 'above', 4, 'no', ''],
        ['', 'byte', 48 + 6],
        ['', 'equal', 6, '', 'no'],
        ['', 'keep', 48 + 40 + 8],

        # X is where the TCP header begins; afterwards, where it ends.
        ['tcp', 'byte_x', 12],
        ['', 'and', 0xf0],
        ['', 'right', 2],
        ['', 'add_x', 0],
        ['', 'save', 0],
        ['', 'to_x', 0],
        ['', 'length', 0],
        ['', 'sub_x', 0],
        ['', 'at_least', 7, '', 'headers'],
        ['', 'byte_x', 0],
        ['', 'equal', 0x16, 'version', ''],
        ['', 'equal', 0x15, 'version', 'headers'],
        ['version', 'byte_x', 1],
        ['', 'equal', 3, '', 'headers'],
        ['', 'byte_x', 2],
        ['', 'above', 4, 'headers', ''],
        ['', 'restore', 0],
        ['', 'add', 7],
        ['', 'keep_a', 0],
        ['headers', 'restore', 0],
        ['', 'keep_a', 0],
        ['no', 'keep', 0],
    );
    my %line = map { $program[$_][0] => $_ } grep { $program[$_][0] ne '' } 0 .. $#program;
    my $bytes = '';
    for my $at (0 .. $#program) {
        my ($label, $operation, $operand, @ways) = @{ $program[$at] };
        my ($so, $not) = map { $_ eq '' ? 0 : $line{$_} - $at - 1 } @ways;
        $bytes .= pack('S C C L', $operations{$operation}, $so // 0, $not // 0, $operand);
    }
    return (scalar @program, $bytes);
}

# --- the ring ------------------------------------------------------------------------------------

my ($megabytes) = @ARGV;
my $block_bytes = PAGES_BYTES * (int($megabytes * 1_048_576 / BLOCKS / PAGES_BYTES) || 1);
my $blocks = int($megabytes * 1_048_576 / $block_bytes);
my $ring_bytes = $blocks * $block_bytes;
# Always with the kernel, so that a burst between two looks at the ring has room.
my $free_blocks = int($blocks / 4);

# The caller keeps the socket: the ring goes with it.
sub open_ring {
    socket(my $socket, AF_PACKET, SOCK_DGRAM, 0) or give_up_on('packet socket');
    my ($lines, $program) = filter();
    setsockopt($socket, SOL_SOCKET, SO_ATTACH_FILTER, pack('S x![J] P', $lines, $program))
      or give_up_on('packet filter');
    setsockopt($socket, SOL_SOCKET, SO_LOCK_FILTER, pack('i', 1)) or give_up_on('packet filter');
    setsockopt($socket, SOL_PACKET, PACKET_VERSION, pack('i', TPACKET_V3)) or give_up_on('ring');
    # Blocks are closed when full, or a second after their first packet.
    my ($frame, $close_after_ms) = (2048, 1000);
    my $frames = $ring_bytes / $frame;
    my $ring = pack('L7', $block_bytes, $blocks, $frame, $frames, $close_after_ms, 0, 0);
    setsockopt($socket, SOL_PACKET, PACKET_RX_RING, $ring) or give_up_on("ring of $megabytes MB");
    my $base = syscall($call->{mmap}, 0, $ring_bytes, PROT_READ_WRITE, MAP_SHARED,
        fileno($socket), 0);
    give_up_on('ring in memory') if $base == -1;
    # Only now, so that no packet comes in unfiltered.
    bind($socket, pack('S n i x12', AF_PACKET, ETH_P_ALL, 0)) or give_up_on('packet socket');
    return ($socket, $base);
}

sub drop_rights {
    if ($> == 0) {
        $) = join ' ', (NOBODY) x 2;
        POSIX::setgid(NOBODY);
        POSIX::setuid(NOBODY);
    }
    my ($header, $none) = (pack('L l', CAPABILITY_VERSION, 0), pack('L6', (0) x 6));
    syscall($call->{capset}, $header, $none) == 0 or give_up_on('giving up rights');
    syscall($call->{prctl}, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    # Code that shares this user could take the socket out of a process that has no more rights than it.
    syscall($call->{prctl}, PR_SET_DUMPABLE, 0, 0, 0, 0);
}

# The parent may have left descriptors open that this program does not need.
for my $descriptor (3 .. 255) {
    close($_) for grep { open($_, '+<&=', $descriptor) } my $handle;
}
$^F = 255;
@SIG{qw(INT TERM HUP PIPE)} = ('IGNORE') x 4;
my ($socket, $base) = open_ring();
open(my $zeros, '<', '/dev/zero') or give_up_on('/dev/zero');
drop_rights();
$0 = 'monitor-agent-capture';

sub now_ns {
    my $time = pack('q2', 0, 0);
    syscall($call->{clock_gettime}, 0, $time);
    my ($seconds, $ns) = unpack('q2', $time);
    return $seconds * NS + $ns;
}

sub peek {
    my ($at, $length) = @_;
    return unpack("P$length", pack('J', $at));
}

# Blocks from $tail up to, not including, $head are closed by the kernel and held by us; at $head is the
# one that is being filled.
my ($tail, $head, $held) = (0, 0, 0);

sub address { return $base + $_[0] * $block_bytes }

# Of a block: is it closed, how many packets, where the first is, how far it is filled, first and last
# instant in ns.
sub describe {
    my ($status, $packets, $first, $length, undef, $s0, $ns0, $s1, $ns1) =
      unpack('x8 L4 q L4', peek(address($_[0]), 48));
    return ($status & TP_STATUS_USER, $packets, $first, $length, $s0 * NS + $ns0, $s1 * NS + $ns1);
}

sub release_oldest {
    # A status of zero, read into its place, hands the block to the kernel.
    syscall($call->{read}, fileno($zeros), address($tail) + 8, 4);
    $tail = ($tail + 1) % $blocks;
    $held -= 1;
}

# Gives how long to wait until the next look: less while blocks fill quickly.
sub look_at_ring {
    my $known = $held;
    while ($held < $blocks) {
        my ($is_closed) = describe($head);
        last unless $is_closed;
        $head = ($head + 1) % $blocks;
        $held += 1;
    }
    my $wait = $held - $known > $free_blocks / 8 ? LOOK_SOON_S : LOOK_EVERY_S;
    release_oldest() while $held > $blocks - $free_blocks;
    my $oldest = now_ns() - MAX_AGE_S * NS;
    while ($held > 0) {
        my $last = (describe($tail))[5];
        last if $last > $oldest;
        release_oldest();
    }
    return $wait;
}

# --- answers -------------------------------------------------------------------------------------

# The two addresses and the two ports as they stand in a packet, for each way.
sub keys_of {
    my ($family, $local, $local_port, $remote, $remote_port) = @_;
    my ($here, $there) = map { inet_pton($family == 4 ? AF_INET : AF_INET6, $_) // '' } $local, $remote;
    my ($port, $other) = map { pack('n', $_) } $local_port, $remote_port;
    return ("$here$there$port$other", "$there$here$other$port");
}

# The same of a packet, or of the one that an error quotes; undef for what is neither.
sub key_at {
    my ($block, $at) = @_;
    my $version = vec($$block, $at, 8);
    if ($version == 0x60) {
        my $next = vec($$block, $at + 6, 8);
        return substr($$block, $at + 8, 36) if $next == 6;
        return substr($$block, $at + 48 + 8, 36) if $next == 58;
        return;
    }
    my $header = ($version & 0x0f) * 4;
    return key_at($block, $at + $header + 8) if vec($$block, $at + 9, 8) == 1;
    return substr($$block, $at + 12, 12) if $header == 20;
    return substr($$block, $at + 12, 8) . substr($$block, $at + $header, 4);
}

sub take {
    my ($request, $time, $device, $record, $packet) = @_;
    my $seen = $request->{seen}{$packet};
    return if $seen && $seen->[0] != $device && $time - $seen->[1] < SAME_PACKET_NS;
    $request->{seen}{$packet} = [ $device, $time ];
    my $records = $request->{records};
    push @$records, $record . $packet;
    if (@$records > MAX_PACKETS) {
        splice(@$records, FIRST_PACKETS, CUT_PACKETS);
        $request->{left_out} += CUT_PACKETS;
    }
}

sub search_block {
    my ($number, $wanted, $from, $to) = @_;
    my (undef, $packets, $at, $length, $first, $last) = describe($number);
    return if $packets == 0 || $first > $to;
    # The block being filled has no last instant yet.
    return if $number != $head && $last < $from;
    my $block = peek(address($number), $length > $block_bytes ? $block_bytes : $length);
    # With few to look for it is quickest to see that a block has nothing of them.
    return if keys %$wanted <= 8 && !grep { index($block, substr($_, -4)) >= 0 } keys %$wanted;
    while ($packets-- > 0) {
        last if $at + 72 > length($block);
        my ($next, $s, $ns, $kept, $whole, $data) = unpack('L5 x4 S', substr($block, $at, 26));
        my $requests = $wanted->{ key_at(\$block, $at + $data) // '' };
        if ($requests) {
            my $time = $s * NS + $ns;
            my $device = unpack('l', substr($block, $at + 52, 4));
            my $record = pack('L4', $s, $ns, $kept, $whole);
            for my $request (@$requests) {
                next if $time < $request->{from} || $time > $request->{to};
                take($request, $time, $device, $record, substr($block, $at + $data, $kept));
            }
        }
        last if $next == 0;
        $at += $next;
    }
}

sub send_all {
    my ($bytes) = @_;
    my $sent = 0;
    while ($sent < length($bytes)) {
        $sent += syswrite(STDOUT, $bytes, length($bytes) - $sent, $sent) // exit 0;
    }
}

# Answers several requests with one look through the ring.
sub answer {
    my ($lines) = @_;
    my (%wanted, @requests);
    for (@$lines) {
        my ($number, @flow) = split / /;
        my ($from_ms, $to_ms) = splice(@flow, -2);
        my $request = { number => $number, seen => {}, records => [], left_out => 0 };
        ($request->{from}, $request->{to}) = map { $_ * 1_000_000 } $from_ms, $to_ms;
        push @requests, $request;
        push @{ $wanted{$_} }, $request for keys_of(@flow);
    }
    my ($from, $to) = (now_ns(), 0);
    for (@requests) {
        $from = $_->{from} if $_->{from} < $from;
        $to = $_->{to} if $_->{to} > $to;
    }
    for my $step (0 .. ($held < $blocks ? $held : $held - 1)) {
        search_block(($tail + $step) % $blocks, \%wanted, $from, $to);
    }
    for (@requests) {
        my $bytes = join '', @{ $_->{records} };
        my $count = @{ $_->{records} };
        send_all("$_->{number} $count $_->{left_out} " . length($bytes) . "\n$bytes");
    }
}

send_all("ready\n");
my ($input, $free_at, $look_in, @waiting) = ('', 0, LOOK_EVERY_S);
while (1) {
    my $wait = $look_in;
    if (@waiting) {
        my $until_free = ($free_at - now_ns()) / NS;
        $wait = $until_free < 0 ? 0 : $until_free if $until_free < $wait;
    }
    vec(my $readable = '', fileno(STDIN), 1) = 1;
    if (select($readable, undef, undef, $wait) > 0) {
        sysread(STDIN, $input, 65_536, length($input)) or exit 0;
        push @waiting, $1 while $input =~ s/^([^\n]*)\n//;
    }
    $look_in = look_at_ring();
    my $begun = now_ns();
    if (@waiting && $begun >= $free_at) {
        answer([ splice(@waiting) ]);
        # When many ask at once they wait for each other: searching takes a fifth of a core at most.
        $free_at = $begun + 5 * (now_ns() - $begun);
    }
}
