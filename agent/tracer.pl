#!/usr/bin/perl
# Traces the way to one address: sends TCP connections, UDP datagrams or echo requests that may travel only
# so many hops, and reads from their sockets' error queues which router sent them back. Needs no right at
# all, except that echo requests need a group in net.ipv4.ping_group_range.
#
#   tracer.pl ARCHITECTURE check
#   tracer.pl ARCHITECTURE 4|6 ADDRESS[%INTERFACE] PORT|- FALLBACK HOPS ROUNDS DEADLINE_MS [METHOD]
#
# Without a port it sends UDP to the ports from 33434 on. With FALLBACK it does that too when TCP got no
# answer from anybody. METHOD is tcp, udp (to PORT alone) or icmp. It ends at the deadline, and when its input does: then the agent is dead. Lines:
#
#   method tcp|udp|icmp LOCAL       what is sent from now on, and from which address
#   sent HOP                        a probe that may travel this far
#   answer HOP MICROSECONDS FROM WHAT [TYPE CODE]
#                                   WHAT is open (it accepted), refused (it reset), or icmp
#   failed CALL ERROR               this machine would not send anything; ERROR as in ENETUNREACH
#   end
#
# `check` prints "ok", or "failed CALL ERROR": whether a socket's error queue can be read here.
#
# Core modules of the smallest perl only.
use strict;
use warnings;
use Errno ();
use Socket qw(AF_INET AF_INET6 SOCK_STREAM SOCK_DGRAM SOL_SOCKET SO_ERROR inet_ntop inet_pton
  pack_sockaddr_in pack_sockaddr_in6 unpack_sockaddr_in unpack_sockaddr_in6);

# The numbers of the kernel, which the smallest perl does not know all of.
use constant {
    SOCK_NONBLOCK => 0x800, SO_TIMESTAMPNS => 35, CLOCK_REALTIME => 0, CLOCK_MONOTONIC => 1,
    SOL_TCP => 6, TCP_SYNCNT => 7, TCP_INFO => 11, SYN_SENT => 2, SIOCGIFNAME => 0x8910, SIOCGIFINDEX => 0x8933,
    MSG_DONTWAIT => 0x40, MSG_ERRQUEUE => 0x2000, ORIGIN_ICMP => 2, ORIGIN_ICMP6 => 3,
};
my %numbers = (
    x64   => { recvmsg => 47,  clock_gettime => 228 },
    arm64 => { recvmsg => 212, clock_gettime => 113 },
);
my %families = (
    4 => { domain => AF_INET,  level => 0,  hops => 2,  errors => 11, unreachable => 3, address_at => 20, icmp => 1,  echo => 8 },
    6 => { domain => AF_INET6, level => 41, hops => 16, errors => 25, unreachable => 1, address_at => 24, icmp => 58, echo => 128 },
);

use constant {
    FIRST_UDP_PORT => 33434,
    # Seconds. Routers limit how often they answer: one is not asked twice within a round.
    ROUND => 0.4, STAGGER => 0.008,
    # The kernel repeats a SYN after a second. Where answers are known to come sooner, a probe is given
    # up before that, since nobody could tell which of the two was answered.
    BEFORE_REPEAT => 0.95, SOON => 0.6,
    # A router takes three seconds to find that nobody has the address, and says so then.
    PATIENCE => 3.3, PATIENCE_AFTER_TCP => 2.4,
    # How far beyond the last router that answered it is worth asking again.
    BEYOND => 5,
};

$| = 1;
$0 = 'monitor-agent-tracer';
my ($architecture, @order) = @ARGV;
my $number = $numbers{ $architecture // '' };

sub fail { print "failed @_\n"; exit 0 }

sub error_name { my ($name) = grep { $!{$_} } keys %!; return $name // 'EIO' }

# --- the kernel -----------------------------------------------------------------------------------

# Makes room for what the kernel writes. Changed once, so that perl shares the bytes with no other variable.
sub make_room { $_[0] = "\0" x $_[1]; vec($_[0], 0, 8) = 0 }

sub clock {
    my ($which) = @_;
    make_room(my $time, 16);
    return time() if syscall($number->{clock_gettime}, $which, $time) != 0;
    my ($seconds, $nanoseconds) = unpack('qq', $time);
    return $seconds + $nanoseconds / 1e9;
}

sub now { return clock(CLOCK_MONOTONIC) }

# The control data of the next entry of an error queue; nothing when it is empty.
sub take_error {
    my ($socket) = @_;
    make_room(my $name, 28);
    make_room(my $data, 64);
    make_room(my $control, 512);
    my $vector = pack('P Q', $data, 64);
    my $message = pack('P L x4 P Q P Q l x4', $name, 28, $vector, 1, $control, 512, 0);
    my $got = syscall($number->{recvmsg}, fileno($socket), $message, MSG_ERRQUEUE | MSG_DONTWAIT);
    return if $got < 0;
    my $length = unpack('x40 Q', $message);
    return substr($control, 0, $length > 512 ? 512 : $length);
}

# Who refused a probe, as { from, type, code, ago }; undef for what is not an ICMP message. `ago` is how
# many seconds before now it came in.
sub read_control {
    my ($family, $control) = @_;
    my ($at, $found, $ago) = (0, undef, 0);
    while ($at + 16 <= length($control)) {
        my ($size, $level, $type) = unpack('Q l l', substr($control, $at, 16));
        last if $size < 16 || $at + $size > length($control);
        my $body = substr($control, $at + 16, $size - 16);
        if ($level == SOL_SOCKET && $type == SO_TIMESTAMPNS && length($body) >= 16) {
            my ($seconds, $nanoseconds) = unpack('qq', $body);
            $ago = clock(CLOCK_REALTIME) - $seconds - $nanoseconds / 1e9;
        }
        if ($level == $family->{level} && $type == $family->{errors}) {
            my $size = $family->{domain} == AF_INET ? 4 : 16;
            if (length($body) >= $family->{address_at} + $size) {
                my (undef, $origin, $what, $code) = unpack('L C C C', $body);
                my ($domain) = unpack('x16 S', $body);
                my $address = substr($body, $family->{address_at}, $size);
                $found = { from => $address, body => $body, type => $what, code => $code }
                  if ($origin == ORIGIN_ICMP || $origin == ORIGIN_ICMP6) && $domain == $family->{domain};
            }
        }
        $at += ($size + 7) & ~7;
    }
    # The wall clock may be set in between.
    $found->{ago} = $ago > 0 && $ago < 0.5 ? $ago : 0 if defined $found;
    return $found;
}

sub icmp_of {
    my ($family, $socket) = @_;
    # As many as a queue may hold that somebody fills with nonsense.
    for (1 .. 64) {
        my $control = take_error($socket);
        return unless defined $control;
        my $found = read_control($family, $control);
        return $found if defined $found;
    }
    return;
}

# Nothing when this machine has no more sockets to give, or no such family; $! says which.
sub open_socket {
    my ($family, $type, $protocol) = @_;
    socket(my $socket, $family->{domain}, $type | SOCK_NONBLOCK, $protocol // 0) or return;
    setsockopt($socket, $family->{level}, $family->{errors}, 1) or fail('setsockopt', error_name());
    # So that what this machine is busy with does not count. Without it, times are a little long.
    setsockopt($socket, SOL_SOCKET, SO_TIMESTAMPNS, 1);
    return $socket;
}

# --- the check ------------------------------------------------------------------------------------

# Sends a datagram to a port of this machine that nobody listens on and reads back the refusal.
sub check {
    my $family = $families{4};
    socket(my $closed, AF_INET, SOCK_DGRAM, 0) or fail('socket', error_name());
    bind($closed, pack_sockaddr_in(0, inet_pton(AF_INET, '127.0.0.1'))) or return print "ok\n";
    my $nobody = getsockname($closed);
    close($closed);
    my $socket = open_socket($family, SOCK_DGRAM) or fail('socket', error_name());
    # Without a loopback interface there is nothing to find out.
    return print "ok\n" unless connect($socket, $nobody) && defined send($socket, 'monitor', 0);
    my $wanted = '';
    vec($wanted, fileno($socket), 1) = 1;
    select($wanted, undef, undef, 0.5);
    my $control = take_error($socket);
    fail('recvmsg', error_name()) unless defined $control;
    my $found = read_control($family, $control);
    fail('recvmsg', 'ENOMSG')
      unless defined $found && $found->{type} == 3 && inet_ntop(AF_INET, $found->{from}) eq '127.0.0.1';
    print "ok\n";
}

fail('syscall', 'ENOSYS') unless defined $number && length(pack('P', 'x')) == 8;
if (($order[0] // '') eq 'check') { check(); exit 0 }

# --- the trace ------------------------------------------------------------------------------------

my ($version, $target, $port, $may_fall_back, $max_hops, $rounds, $deadline_ms, $wanted_method) = @order;
my $family = $families{$version};
my $start = now();
my $deadline = $start + $deadline_ms / 1000;
# Should anything here hang, the kernel ends it.
alarm(int($deadline_ms / 1000) + 2);

my ($address, $scope) = split /%/, $target;
my $packed = inet_pton($family->{domain}, $address) // fail('address', 'EINVAL');
my $scope_id = 0;

sub interface {
    my ($call, $request) = @_;
    socket(my $any, $family->{domain}, SOCK_DGRAM, 0) or return;
    return ioctl($any, $call, $request) ? $request : undef;
}

if (defined $scope && $scope =~ /^\d+$/) { $scope_id = $scope }
elsif (defined $scope) {
    my $answer = interface(SIOCGIFINDEX, pack('a16 x24', $scope)) // fail('interface', error_name());
    $scope_id = unpack('x16 i', $answer);
}

sub to_port {
    my ($to) = @_;
    return $version == 4 ? pack_sockaddr_in($to, $packed) : pack_sockaddr_in6($to, $packed, $scope_id);
}

sub text_of {
    my ($bytes, $scope) = @_;
    my $text = inet_ntop($family->{domain}, $bytes);
    return $text unless $scope;
    my $answer = interface(SIOCGIFNAME, pack('x16 i x20', $scope));
    return "$text%" . (defined $answer ? unpack('Z16', $answer) : $scope);
}

sub author {
    my ($icmp) = @_;
    return $target if $icmp->{from} eq $packed;
    my $is_local = $version == 6 && $icmp->{from} =~ /^\xfe[\x80-\xbf]/s && length($icmp->{body}) >= 44;
    return text_of($icmp->{from}, $is_local ? unpack('x40 L', $icmp->{body}) : 0);
}

# The state of one method. A probe is { hop, socket, sent }.
my ($method, $begun, %open, @schedule, $last_hop, $farthest, @slowest, $is_announced, $patience, $udp_port);
my ($not_before, $has_sent) = (0, 0);

sub begin {
    ($method, $patience) = @_;
    ($begun, $last_hop, $farthest, $is_announced, $udp_port) = (now(), $max_hops, 0, 0, FIRST_UDP_PORT);
    %open = ();
    @slowest = ();
    @schedule = ();
    for my $round (0 .. $rounds - 1) {
        push @schedule, [$begun + $round * ROUND + $_ * STAGGER, $_ + 1, $round] for 0 .. $max_hops - 1;
    }
}

sub answer {
    my ($probe, $elapsed, $from, @what) = @_;
    my $hop = $probe->{hop};
    delete $open{ fileno($probe->{socket}) };
    close($probe->{socket});
    return if $hop > $last_hop;
    $farthest = $hop if $hop > $farthest;
    $slowest[$hop] = $elapsed if $elapsed > ($slowest[$hop] // 0);
    # Whatever is not "too far" ends the way.
    $last_hop = $hop unless $what[0] eq 'icmp' && $what[1] != $family->{unreachable};
    printf("answer %d %d %s %s\n", $hop, $elapsed * 1e6, $from, join(' ', @what));
}

sub give_up {
    my ($probe) = @_;
    delete $open{ fileno($probe->{socket}) };
    close($probe->{socket});
}

# The kernel knows best how long a connection took.
sub connect_time {
    my ($socket, $elapsed) = @_;
    my $facts = getsockopt($socket, SOL_TCP, TCP_INFO) // '';
    my $measured = length($facts) >= 72 ? unpack('x68 L', $facts) / 1e6 : 0;
    return $measured > 0 && $measured < $elapsed ? $measured : $elapsed;
}

# Looks what became of a probe. `$error` is what connect() said at once.
sub settle {
    my ($probe, $error) = @_;
    my $socket = $probe->{socket};
    my $elapsed = now() - $probe->{sent};
    my $icmp = icmp_of($family, $socket);
    if (defined $icmp) {
        $elapsed -= $icmp->{ago} if $icmp->{ago} < $elapsed;
        return answer($probe, $elapsed, author($icmp), 'icmp', $icmp->{type}, $icmp->{code});
    }
    if ($method ne 'tcp') {
        my $from = recv($socket, my $data, 64, 0);
        # An error without an ICMP message says nothing about who and where.
        return answer($probe, $elapsed, $target, 'open') if defined $from;
        return;
    }
    $! = $error || unpack('i', getsockopt($socket, SOL_SOCKET, SO_ERROR) // pack('i', 0));
    return answer($probe, $elapsed, $target, 'refused') if $!{ECONNREFUSED} || $!{ECONNRESET};
    return give_up($probe) if $! != 0;
    return answer($probe, connect_time($socket, $elapsed), $target, 'open') if defined getpeername($socket);
    # What was read was not about the probe, which may go on, unless its socket is done for.
    give_up($probe) if unpack('C', getsockopt($socket, SOL_TCP, TCP_INFO) // "\0") != SYN_SENT;
}

# What was sent until now is worth more than the reason why no more can be.
sub could_not { fail($_[0], error_name()) unless $has_sent; return 0 }

sub next_port {
    return 0 if $method eq 'icmp';
    return $port if $method eq 'tcp' || defined $wanted_method;
    return $udp_port++;
}

# False when this machine does not let it out.
sub send_probe {
    my ($hop) = @_;
    my $socket = open_socket($family, $method eq 'tcp' ? SOCK_STREAM : SOCK_DGRAM, $method eq 'icmp' ? $family->{icmp} : 0);
    return could_not($method eq 'icmp' ? 'ping' : 'socket') unless defined $socket;
    setsockopt($socket, $family->{level}, $family->{hops}, $hop) or fail('setsockopt', error_name());
    setsockopt($socket, SOL_TCP, TCP_SYNCNT, 2) if $method eq 'tcp';
    my $probe = { hop => $hop, socket => $socket, sent => now() };
    my $is_done = connect($socket, to_port(next_port()));
    my $error = $is_done ? 0 : $! + 0;
    if ($is_done && $method ne 'tcp') {
        # The kernel writes the identifier and the checksum of an echo request.
        my $header = $method eq 'icmp' ? pack('C C n n n', $family->{echo}, 0, 0, 0, $hop) : '';
        $probe->{sent} = now();
        $error = defined send($socket, $header . '@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\]^_', 0) ? 0 : $! + 0;
    }
    $! = $error;
    my $is_answered = $!{ECONNREFUSED} || $!{ECONNRESET};
    return could_not($is_done ? 'send' : 'connect') if $error && !$!{EINPROGRESS} && !$is_answered;
    my ($local) = $version == 4
      ? (unpack_sockaddr_in(getsockname($socket)))[1]
      : (unpack_sockaddr_in6(getsockname($socket)))[1];
    print 'method ', $method, ' ', text_of($local, 0), "\n" unless $is_announced;
    $has_sent = $is_announced = 1;
    $open{ fileno($socket) } = $probe;
    print "sent $hop\n";
    settle($probe, $error) if $is_answered;
    return 1;
}

# When to stop waiting for a probe.
sub end_of {
    my ($probe) = @_;
    my $hop = $probe->{hop};
    return 0 if $hop > $last_hop;
    my ($longest) = sort { $b <=> $a } grep { defined } @slowest[$hop .. $#slowest];
    return $begun + $patience if !defined $longest || $longest > SOON;
    my $wait = 0.4 + 2 * $longest;
    return $probe->{sent} + ($wait < BEFORE_REPEAT ? $wait : BEFORE_REPEAT);
}

# Asked when it is its turn: until then more may be known.
sub is_wanted {
    my ($due, $hop, $round) = @{ $_[0] };
    return $hop <= $last_hop && ($round == 0 || $hop <= $farthest + BEYOND || $due > now());
}

# Waits for the first of: an answer, `$until`, the end of our input.
sub wait_until {
    my ($until) = @_;
    my ($readable, $writable) = ('', '');
    vec($readable, fileno(STDIN), 1) = 1;
    for my $descriptor (keys %open) {
        vec($readable, $descriptor, 1) = 1;
        vec($writable, $descriptor, 1) = 1 if $method eq 'tcp';
    }
    my $left = $until - now();
    return if select($readable, $writable, undef, $left > 0 ? $left : 0) <= 0;
    if (vec($readable, fileno(STDIN), 1)) { sysread(STDIN, my $any, 64) or exit 0 }
    for my $descriptor (sort { $a <=> $b } keys %open) {
        settle($open{$descriptor}, 0)
          if exists $open{$descriptor} && (vec($readable, $descriptor, 1) || vec($writable, $descriptor, 1));
    }
}

if (defined $wanted_method) { begin($wanted_method, PATIENCE) }
elsif ($port eq '-') { begin('udp', PATIENCE) }
else { begin('tcp', PATIENCE) }

while ((my $time = now()) < $deadline) {
    shift @schedule while @schedule && !is_wanted($schedule[0]);
    # One at a time, so that answers are read in between, and never in bursts when this machine is late.
    if (@schedule && $schedule[0][0] <= $time && $not_before <= $time) {
        @schedule = () unless send_probe((shift @schedule)->[1]);
        $not_before = $time + STAGGER / 2;
    }
    my $wake = $deadline;
    for my $probe (values %open) {
        my $end = end_of($probe);
        if ($end <= $time) { give_up($probe) }
        elsif ($end < $wake) { $wake = $end }
    }
    if ($method eq 'tcp' && $may_fall_back && $farthest == 0) {
        my $switch = $begun + BEFORE_REPEAT;
        if ($time >= $switch) { begin('udp', PATIENCE_AFTER_TCP); next }
        $wake = $switch if $switch < $wake;
    }
    last if !%open && !@schedule;
    if (@schedule) {
        my $next = $schedule[0][0] > $not_before ? $schedule[0][0] : $not_before;
        $wake = $next if $next < $wake;
    }
    wait_until($wake);
}
print "end\n";
