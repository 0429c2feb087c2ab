#!/usr/bin/perl
# Opens sockets for ICMP echo, then becomes the given command, which inherits them. On the way it takes
# secrets out of the environment, where whatever runs as the same user could read them.
#
#   icmp-launcher.pl COMMAND [ARGUMENT ...]
#
# Node cannot open such sockets, but it can use a descriptor it was born with. Told through the
# environment of the command:
#
#   AGENT_ICMP_LAUNCHED   the id of the process all of this is meant for
#   AGENT_ICMP_FD4, _FD6  datagram ICMP sockets: no privilege, but net.ipv4.ping_group_range must
#                         include a group of this process
#   AGENT_ICMP_RELAY_FD   a UDP socket on loopback; AGENT_ICMP_RELAY_PORT is where a small process
#                         listens that holds raw sockets (CAP_NET_RAW) and carries packets to and fro
#   AGENT_ICMP_PROBLEM    why neither was possible
#   AGENT_SECRETS_FD      a pipe that holds the variables named in AGENT_SECRETS, which were taken out
#
# Core modules only.
use strict;
use warnings;
use Config;
use Errno ();
use POSIX ();
use Socket qw(AF_INET AF_INET6 SOCK_DGRAM SOCK_RAW INADDR_LOOPBACK
  pack_sockaddr_in pack_sockaddr_in6 unpack_sockaddr_in unpack_sockaddr_in6);

use constant {
    ICMP => 1, ICMPV6 => 58, NOBODY => 65534, HOP_LIMIT_UNKNOWN => 255, UNSENT => 0,
    CAPABILITY_VERSION => 0x20080522, PR_SET_DUMPABLE => 4, PR_SET_NO_NEW_PRIVS => 38,
};

# Numbers of system calls that perl has no words for.
my %calls = (
    x86_64  => { capset => 126, prctl => 157 },
    aarch64 => { capset => 91,  prctl => 167 },
    riscv64 => { capset => 91,  prctl => 167 },
);

# Descriptors above this number are closed at exec; the inherited ones must survive it.
$^F = 255;

sub open_udp {
    socket(my $udp, AF_INET, SOCK_DGRAM, 0) or return;
    bind($udp, pack_sockaddr_in(0, INADDR_LOOPBACK)) or return;
    my ($port) = unpack_sockaddr_in(getsockname($udp));
    return ($udp, $port);
}

# --- the relay: packets from the agent's UDP socket to the network and back ---------------------

# True when a packet belongs to the agent: an echo reply with its identifier, or an error about a
# request with it. Everything else on the raw socket is other people's business.
sub is_ours {
    my ($packet, $family, $identifier) = @_;
    return 0 if length($packet) < 8 || !defined $identifier;
    my ($type) = unpack('C', $packet);
    my ($reply, @errors) = $family == 4 ? (0, 3, 11) : (129, 1, 3);
    return unpack('n', substr($packet, 4, 2)) == $identifier if $type == $reply;
    return 0 unless grep { $_ == $type } @errors;
    my $original = substr($packet, 8);
    my $header = $family == 4 ? (unpack('C', $original) & 0x0f) * 4 : 40;
    return 0 if length($original) < $header + 8;
    return unpack('n', substr($original, $header + 4, 2)) == $identifier;
}

# Its sockets are open: the relay needs no right any more. Without one it is no better than code that
# shares its user, which must not be able to take the sockets out of it.
sub drop_rights {
    if ($> == 0) {
        $) = join ' ', (NOBODY) x 2;
        POSIX::setgid(NOBODY);
        POSIX::setuid(NOBODY);
    }
    my ($machine) = $Config{archname} =~ /^([^-]+)/;
    # Elsewhere it keeps what it has, which guards it as well.
    my $call = $calls{$machine} or return;
    syscall($call->{prctl}, PR_SET_DUMPABLE, 0, 0, 0, 0);
    my ($header, $none) = (pack('L l', CAPABILITY_VERSION, 0), pack('L6', (0) x 6));
    syscall($call->{capset}, $header, $none) == 0 or exit 1;
    syscall($call->{prctl}, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

sub relay {
    my ($parent, $udp_fd, $raw4_fd, $raw6_fd) = @_;
    open(my $udp, '+<&=', $udp_fd) or exit 1;
    my %raw;
    if ($raw4_fd ne '-') { open($raw{4}, '+<&=', $raw4_fd) or exit 1 }
    if ($raw6_fd ne '-') { open($raw{6}, '+<&=', $raw6_fd) or exit 1 }
    # A reader of the agent's output must not wait for the relay to end.
    open($_, '+<', '/dev/null') for *STDIN, *STDOUT, *STDERR;
    drop_rights();
    my $identifier;
    # The agent's own id, given by it: asked for here, it might be that of a subreaper.
    while (getppid() == $parent) {
        my $wanted = '';
        vec($wanted, fileno($_), 1) = 1 for $udp, values %raw;
        next if select(my $readable = $wanted, undef, undef, 1) <= 0;
        if (vec($readable, fileno($udp), 1) && defined recv($udp, my $frame, 2048, 0)) {
            my ($family, $rest) = unpack('C a*', $frame);
            my $size = $family == 4 ? 4 : 16;
            if (exists $raw{$family} && length($rest) >= $size + 8) {
                my ($address, $packet) = unpack("a$size a*", $rest);
                $identifier = unpack('n', substr($packet, 4, 2));
                my $to = $family == 4 ? pack_sockaddr_in(0, $address) : pack_sockaddr_in6(0, $address);
                # What the kernel refuses to send goes back with the name of the error.
                if (!defined send($raw{$family}, $packet, 0, $to)) {
                    my ($error) = grep { $!{$_} } keys %!;
                    send($udp, pack('C C/a* a*', UNSENT, $error // 'EIO', $packet), 0);
                }
            }
        }
        for my $family (keys %raw) {
            next unless vec($readable, fileno($raw{$family}), 1);
            my $from = recv($raw{$family}, my $packet, 2048, 0);
            next unless defined $from;
            my ($hops, $address) = (HOP_LIMIT_UNKNOWN, '');
            if ($family == 4) {
                # A raw IPv4 socket gives the IP header too, and with it the hop limit.
                $hops = unpack('C', substr($packet, 8, 1));
                $packet = substr($packet, (unpack('C', $packet) & 0x0f) * 4);
                (undef, $address) = unpack_sockaddr_in($from);
            } else {
                (undef, $address) = unpack_sockaddr_in6($from);
            }
            send($udp, pack('C C a* a*', $family, $hops, $address, $packet), 0)
              if is_ours($packet, $family, $identifier);
        }
    }
    exit 0;
}

# Starts the relay as a program of its own: its environment is empty, so the agent's key is not in it.
sub start_relay {
    my ($raw4, $raw6) = @_;
    my ($agent_end, $agent_port) = open_udp() or return 0;
    my ($relay_end, $relay_port) = open_udp() or return 0;
    # Connected, so packets of other local processes never reach it.
    connect($relay_end, pack_sockaddr_in($agent_port, INADDR_LOOPBACK)) or return 0;
    my $agent = $$;
    my $pid = fork();
    return 0 unless defined $pid;
    if ($pid == 0) {
        close($agent_end);
        my @descriptors = map { defined $_ ? fileno($_) : '-' } $relay_end, $raw4, $raw6;
        %ENV = ();
        exec { $^X } 'monitor-agent-icmp-relay', $0, '--relay', $agent, @descriptors;
        exit 1;
    }
    close($_) for grep { defined } $relay_end, $raw4, $raw6;
    $ENV{AGENT_ICMP_RELAY_FD}   = dup_kept($agent_end);
    $ENV{AGENT_ICMP_RELAY_PORT} = $relay_port;
    return 1;
}

# --- the launcher -------------------------------------------------------------------------------

# Keeps a handle open for the life of the process and gives its descriptor.
my @kept;
sub dup_kept {
    my ($handle) = @_;
    push @kept, $handle;
    return fileno($handle);
}

if (@ARGV && $ARGV[0] eq '--relay') {
    shift @ARGV;
    relay(@ARGV);
}

die "usage: icmp-launcher.pl COMMAND [ARGUMENT ...]\n" unless @ARGV;

# Before a relay is started, which would keep a copy of them in its memory.
sub hide_secrets {
    my @names = grep { defined $ENV{$_} } split /,/, delete($ENV{AGENT_SECRETS}) // '';
    my $text = join('', map { "$_=$ENV{$_}\0" } @names);
    # What a pipe surely takes without anybody reading it.
    return if !@names || length($text) > 4096 || !pipe(my $from, my $to);
    return if syswrite($to, $text) != length($text);
    close($to);
    delete @ENV{@names};
    $ENV{AGENT_SECRETS_FD} = dup_kept($from);
}

delete @ENV{grep { /^AGENT_ICMP_/ || $_ eq 'AGENT_SECRETS_FD' } keys %ENV};
hide_secrets();
$ENV{AGENT_ICMP_LAUNCHED} = $$;

my $problem = '';
if (socket(my $four, AF_INET, SOCK_DGRAM, ICMP)) {
    $ENV{AGENT_ICMP_FD4} = dup_kept($four);
    if (socket(my $six, AF_INET6, SOCK_DGRAM, ICMPV6)) { $ENV{AGENT_ICMP_FD6} = dup_kept($six) }
} else {
    $problem = "datagram ICMP socket: $!";
    if (socket(my $four, AF_INET, SOCK_RAW, ICMP)) {
        my $six;
        undef $six unless socket($six, AF_INET6, SOCK_RAW, ICMPV6);
        $problem = start_relay($four, $six) ? '' : "$problem; relay: $!";
    } else {
        $problem .= "; raw ICMP socket: $!";
    }
}
$ENV{AGENT_ICMP_PROBLEM} = $problem if $problem ne '';

exec { $ARGV[0] } @ARGV;
die "icmp-launcher.pl: cannot run $ARGV[0]: $!\n";
