#!/usr/bin/perl
# Answers every IPv4 packet that comes in for 10.99.0.0/16 with ICMP messages of all kinds, many of them
# nonsense: any type and code, any fourth to eighth byte, quotes that are cut off or too long.
use strict;
use warnings;
use Socket qw(AF_INET SOCK_RAW pack_sockaddr_in);

use constant { AF_PACKET => 17, SOCK_DGRAM => 2, ETH_P_IP => 0x0800, ICMP => 1 };

sub checksum {
    my ($bytes) = @_;
    my $sum = 0;
    $sum += $_ for unpack('n*', length($bytes) % 2 ? "$bytes\0" : $bytes);
    $sum = ($sum & 0xffff) + ($sum >> 16) while $sum >> 16;
    return ~$sum & 0xffff;
}

srand(shift // 1);
socket(my $wire, AF_PACKET, SOCK_DGRAM, unpack('S', pack('n', ETH_P_IP))) or die "packet socket: $!\n";
socket(my $out, AF_INET, SOCK_RAW, ICMP) or die "raw socket: $!\n";
$| = 1;
print "lying\n";
while (defined recv($wire, my $packet, 2048, 0)) {
    next if length($packet) < 28 || substr($packet, 16, 2) ne "\x0a\x63";
    my $to = substr($packet, 12, 4);
    for (1 .. 3) {
        my $type = (3, 3, 3, 4, 5, 11, 11, 12, int(rand(256)))[int(rand(9))];
        my $code = rand() < 0.5 ? int(rand(16)) : int(rand(256));
        my $rest = pack('N', int(rand(2**32)));
        my $quote = substr($packet, 0, rand() < 0.5 ? 28 : int(rand(length($packet) + 1)));
        $quote .= "\xff" x int(rand(200)) if rand() < 0.3;
        my $body = $rest . $quote;
        my $sum = checksum(pack('CCn', $type, $code, 0) . $body);
        send($out, pack('CCn', $type, $code, $sum) . $body, 0, pack_sockaddr_in(0, $to));
    }
}
