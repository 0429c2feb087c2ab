#!/usr/bin/perl
# Tells what comes first on the way to an address, as the kernel knows it. Asks by netlink, which takes no
# right, and sends nothing to the network.
#
# Reads questions, a line each, `4 ADDRESS` or `6 ADDRESS[%INTERFACE]`, and answers each with a line:
#
#   hop DEVICE up|down carrier|no-carrier|no-peer GATEWAY|- STATE
#                       STATE is that of the gateway among the neighbours of DEVICE, as `ip neigh` names
#                       it in lower case; `-` where the target is on the link, or nothing is known.
#                       `no-peer` is a missing link whose other end may be the target itself
#   here                the address is one of this machine
#   none ERROR          no way leads there; ERROR as in ENETUNREACH
#   unsure              a dead end, and packets may have taken another way
#   failed CALL ERROR   the kernel could not be asked
#
# Ends with its input. Core modules of the smallest perl only.
use strict;
use warnings;
use Errno ();
use Socket qw(AF_INET AF_INET6 SOCK_DGRAM SOCK_RAW inet_ntop inet_pton);

# The numbers of the kernel: linux/netlink.h, linux/rtnetlink.h, linux/neighbour.h, linux/if_link.h.
use constant {
    AF_NETLINK => 16, NLMSG_ERROR => 2, NLMSG_DONE => 3, NLM_F_REQUEST => 1, NLM_F_DUMP => 0x300,
    RTM_NEWLINK => 16, RTM_GETLINK => 18, RTM_NEWROUTE => 24, RTM_GETROUTE => 26, RTM_NEWNEIGH => 28,
    RTM_GETNEIGH => 30, RTA_DST => 1, RTA_SRC => 2, RTA_OIF => 4, RTA_GATEWAY => 5, RTA_PREFSRC => 7, RTA_VIA => 18, NDA_DST => 1,
    NDA_IFINDEX => 8, IFLA_IFNAME => 3, IFF_UP => 1, IFF_LOWER_UP => 0x10000, SIOCGIFINDEX => 0x8933,
    HEADER => 16, FRA_SRC => 2, RTA_MULTIPATH => 9, RTA_NH_ID => 30, RTM_F_FIB_MATCH => 0x2000,
    RTM_NEWRULE => 32, RTM_GETRULE => 34, FRA_IP_PROTO => 22, FRA_SPORT_RANGE => 23, FRA_DPORT_RANGE => 24,
    IFLA_LINKINFO => 18, IFLA_INFO_KIND => 1,
};
my %refusals = (6 => 'EINVAL', 7 => 'EHOSTUNREACH', 8 => 'EACCES');
use constant LOCAL => 2;
my %states = (
    0x01 => 'incomplete', 0x02 => 'reachable', 0x04 => 'stale', 0x08 => 'delay', 0x10 => 'probe',
    0x20 => 'failed', 0x40 => 'noarp', 0x80 => 'permanent',
);

$| = 1;
$0 = 'monitor-agent-first-hop';
my $sequence = 0;
my $netlink;

sub error_name { my ($name) = grep { $!{$_} } keys %!; return $name // 'EIO' }

# An error the kernel answered with, or one of asking it.
sub refused { die { number => $_[0] } }
sub could_not { die "failed $_[0] " . error_name() . "\n" }

sub attribute { my ($type, $bytes) = @_; return pack('S S a*', 4 + length($bytes), $type, $bytes) . "\0" x (-length($bytes) & 3) }

sub attributes {
    my ($bytes) = @_;
    my %found;
    while (length($bytes) >= 4) {
        my ($size, $type) = unpack('S S', $bytes);
        last if $size < 4 || $size > length($bytes);
        $found{ $type & 0x3fff } = substr($bytes, 4, $size - 4);
        my $whole = ($size + 3) & ~3;
        $bytes = $whole < length($bytes) ? substr($bytes, $whole) : '';
    }
    return \%found;
}

# Asks the kernel and gives the messages of the wanted type, without their headers.
sub ask {
    my ($type, $flags, $body, $wanted) = @_;
    $sequence += 1;
    my $message = pack('L S S L L a*', HEADER + length($body), $type, NLM_F_REQUEST | $flags, $sequence, 0, $body);
    send($netlink, $message, 0, pack('S S L L', AF_NETLINK, 0, 0, 0)) // could_not('send');
    my @found;
    while (1) {
        recv($netlink, my $bytes, 65536, 0) // could_not('recv');
        while (length($bytes) >= HEADER) {
            my ($size, $kind, undef, $answered) = unpack('L S S L', $bytes);
            last if $size < HEADER || $size > length($bytes);
            my $content = substr($bytes, HEADER, $size - HEADER);
            my $whole = ($size + 3) & ~3;
            $bytes = $whole < length($bytes) ? substr($bytes, $whole) : '';
            next if $answered != $sequence;
            refused(-unpack('l', $content)) if $kind == NLMSG_ERROR;
            return @found if $kind == NLMSG_DONE;
            push @found, $content if $kind == $wanted;
            return @found unless $flags & NLM_F_DUMP;
        }
    }
}

sub index_of {
    my ($scope) = @_;
    return $scope if $scope =~ /^\d+$/;
    socket(my $any, AF_INET, SOCK_DGRAM, 0) or could_not('socket');
    my $request = pack('a16 x24', $scope);
    ioctl($any, SIOCGIFINDEX, $request) or refused($! + 0);
    return unpack('x16 i', $request);
}

# What the kernel says of a way, with its type as `type`.
sub ask_route {
    my ($domain, $target, $scope, $more) = @_;
    my $size = length($target) * 8;
    my $source = $more->{source};
    my $body = pack('C8 L', $domain, $size, defined $source ? $size : 0, 0, 0, 0, 0, 0, $more->{flags} // 0)
        . attribute(RTA_DST, $target);
    $body .= attribute(RTA_SRC, $source) if defined $source;
    $body .= attribute(RTA_OIF, pack('L', index_of($scope))) if defined $scope;
    my ($answer) = ask(RTM_GETROUTE, 0, $body, RTM_NEWROUTE);
    $answer //= "\0" x 12;
    return { %{ attributes(substr($answer, 12)) }, type => unpack('x7 C', $answer) };
}

# Device, and gateway as { domain, bytes } where there is one; nothing for an address of this machine.
sub route_to {
    my ($domain, $target, $scope) = @_;
    my $found = ask_route($domain, $target, $scope, {});
    my $type = $found->{type};
    die "none $refusals{$type}\n" if exists $refusals{$type};
    return if $type == LOCAL;
    die "failed route ENOMSG\n" unless defined $found->{ +RTA_OIF };
    my $gateway;
    $gateway = { domain => $domain, bytes => $found->{ +RTA_GATEWAY } } if defined $found->{ +RTA_GATEWAY };
    if (defined $found->{ +RTA_VIA }) {
        my ($via, $bytes) = unpack('S a*', $found->{ +RTA_VIA });
        $gateway = { domain => $via, bytes => $bytes };
    }
    return (unpack('L', $found->{ +RTA_OIF }), $gateway);
}

sub state_of {
    my ($device, $gateway) = @_;
    my $body = pack('C x3 l S C C', $gateway->{domain}, 0, 0, 0, 0) . attribute(NDA_IFINDEX, pack('L', $device));
    for my $neighbour (ask(RTM_GETNEIGH, NLM_F_DUMP, $body, RTM_NEWNEIGH)) {
        my ($domain, $index, $state) = unpack('C x3 l S', $neighbour);
        next unless $domain == $gateway->{domain} && $index == $device;
        my $found = attributes(substr($neighbour, 12));
        return $states{$state} // '-' if ($found->{ +NDA_DST } // '') eq $gateway->{bytes};
    }
    return '-';
}

# Whether packets may take another way than the one that was reported: a route has several gateways, or a rule
# looks at what the question did not say, ports or the address that a socket gets when it connects.
sub may_go_elsewhere {
    my ($domain, $target, $scope) = @_;
    my %looked_at;
    # A small kernel has no rules, and says so.
    for my $rule (eval { ask(RTM_GETRULE, NLM_F_DUMP, pack('C x11', $domain), RTM_NEWRULE) }) {
        $looked_at{$_} = 1 for keys %{ attributes(substr($rule, 12)) };
    }
    return 1 if grep { $looked_at{$_} } FRA_IP_PROTO, FRA_SPORT_RANGE, FRA_DPORT_RANGE;
    my $ways = eval { ask_route($domain, $target, $scope, { flags => RTM_F_FIB_MATCH }) } // {};
    return 1 if defined $ways->{ +RTA_MULTIPATH } || (defined $ways->{ +RTA_NH_ID } && !defined $ways->{ +RTA_OIF });
    return 0 if !$looked_at{ +FRA_SRC };
    my $way = eval { ask_route($domain, $target, $scope, {}) } // {};
    my $source = $way->{ +RTA_PREFSRC } // return 0;
    my $bound = eval { ask_route($domain, $target, $scope, { source => $source }) } // {};
    return grep { ($way->{$_} // '') ne ($bound->{$_} // '') } RTA_OIF, RTA_GATEWAY, RTA_VIA;
}

# Whether the target itself may be all there is behind a link: a bridge without a member, as the one of
# containers when the last has ended, or a virtual cable to one; not where all else leaves by it too.
sub may_end_at_target {
    my ($domain, $device, $found) = @_;
    my $kind = unpack('Z*', attributes($found->{ +IFLA_LINKINFO } // '')->{ +IFLA_INFO_KIND } // '');
    return 0 if $kind !~ /^(?:bridge|veth|netkit|tun)$/;
    my $far = inet_pton($domain, $domain == AF_INET ? '192.0.2.1' : '2001:db8::1');
    my ($default) = eval { route_to($domain, $far) };
    return !defined $default || $default != $device;
}

sub hop_to {
    my ($domain, $target, $scope) = @_;
    my ($device, $gateway) = route_to($domain, $target, $scope);
    return 'here' unless defined $device;
    my ($link) = ask(RTM_GETLINK, 0, pack('C x S l L L', 0, 0, $device, 0, 0), RTM_NEWLINK);
    my $flags = unpack('x8 L', $link);
    my $found = attributes(substr($link, 16));
    my $carrier = $flags & IFF_LOWER_UP ? 'carrier' : 'no-carrier';
    $carrier = 'no-peer' if $carrier eq 'no-carrier' && !defined $gateway && may_end_at_target($domain, $device, $found);
    return join(' ', 'hop', unpack('Z*', $found->{ +IFLA_IFNAME } // '?'), $flags & IFF_UP ? 'up' : 'down', $carrier,
        defined $gateway ? (inet_ntop($gateway->{domain}, $gateway->{bytes}), state_of($device, $gateway)) : ('-', '-'));
}

sub answer_to {
    my ($version, $text) = @_;
    my ($address, $scope) = split /%/, $text;
    my $domain = $version eq '6' ? AF_INET6 : AF_INET;
    my $target = inet_pton($domain, $address // '') // return 'failed address EINVAL';
    # Sockets of IPv6 speak IPv4 to these.
    ($domain, $target) = (AF_INET, $1) if $domain == AF_INET6 && $target =~ /^\0{10}\xff\xff(.{4})$/s;
    my $answer = eval { hop_to($domain, $target, $scope) };
    if (!defined $answer) {
        my $problem = $@;
        $answer = ref $problem ? 'none ' . do { $! = $problem->{number}; error_name() } : $problem;
        die $answer unless $answer =~ /^none /;
    }
    return $answer unless $answer =~ /^none | down | no-carrier | (?:incomplete|failed)$/;
    return may_go_elsewhere($domain, $target, $scope) ? 'unsure' : $answer;
}

# A failed question may have left answers behind: the next one begins with a socket of its own.
while (defined(my $line = <STDIN>)) {
    chomp $line;
    my $answer = eval {
        socket($netlink, AF_NETLINK, SOCK_RAW, 0) or could_not('socket');
        answer_to(split / /, $line, 2);
    };
    my $problem = $@;
    close($netlink) if defined $netlink;
    if (!defined $answer) { $answer = $problem =~ /^failed / ? $problem : "failed perl EIO\n" }
    chomp $answer;
    print "$answer\n";
}
