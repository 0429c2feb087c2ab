#!/usr/bin/perl
# Runs one program that is not trusted, and lets nothing of it outlive it.
#
# Started by the agent with an empty environment. Descriptors 0 to 4 are the program's: nothing, output,
# error output, messages from it, messages to it. Descriptor 5 is the agent's: the order comes in on it
# (launch-supervised.ts), then single bytes (C cancels); its end means that the agent is dead, and so is
# the program then. Lines go out on it:
#
#   failed TEXT                 the program could not be started
#   end REASON STATUS PEAK      how it ended: the status as wait() gives it, the peak in bytes
#   gone                        nothing of it is left
#
# Two ways of keeping hold of what a program starts. With namespaces, the manager is process 1 of a
# process-id namespace, and the kernel ends all of it when process 1 ends. Without, the manager is a
# "subreaper": a process that loses its parent becomes its child.
#
# Core modules of the smallest perl only; POSIX is left out because loading it takes longer than all else.
use strict;
use warnings;

# --- the kernel -----------------------------------------------------------------------------------

my %numbers = (
    x64 => {
        prctl => 157, prlimit64 => 302, unshare => 272, mount => 165, setsid => 112, setgroups => 116,
        setresgid => 119, setresuid => 117, clock_gettime => 228, pidfd_open => 434, mount_setattr => 442,
        exit_group => 231, capset => 126,
    },
    arm64 => {
        prctl => 167, prlimit64 => 261, unshare => 97, mount => 40, setsid => 157, setgroups => 159,
        setresgid => 149, setresuid => 147, clock_gettime => 113, pidfd_open => 434, mount_setattr => 442,
        exit_group => 94, capset => 91,
    },
);
my $number;

use constant {
    PR_SET_PDEATHSIG => 1, PR_SET_DUMPABLE => 4, PR_SET_CHILD_SUBREAPER => 36, PR_SET_NO_NEW_PRIVS => 38,
    PR_CAPBSET_DROP => 24, PR_CAP_AMBIENT => 47, PR_CAP_AMBIENT_CLEAR_ALL => 4, CAPABILITY_VERSION => 0x20080522,
    CLONE_NEWNS => 0x20000, CLONE_NEWIPC => 0x8000000, CLONE_NEWUSER => 0x10000000,
    CLONE_NEWPID => 0x20000000,
    MS_RDONLY => 1, MS_NOSUID => 2, MS_NODEV => 4, MS_NOEXEC => 8, MS_BIND => 4096,
    MS_REC => 16384, MS_PRIVATE => 1 << 18,
    AT_FDCWD => -100, AT_RECURSIVE => 0x8000, MOUNT_ATTR_RDONLY => 1,
    RLIMIT_FSIZE => 1, RLIMIT_CORE => 4, RLIMIT_NPROC => 6, RLIMIT_NOFILE => 7,
    CLOCK_MONOTONIC => 1, F_SETFD => 2, FD_CLOEXEC => 1, WNOHANG => 1, NOBODY => 65534, SIGKILL => 9, SIGXFSZ => 25,
};

# Zero when it went well.
sub kernel {
    my ($name, @arguments) = @_;
    return -1 unless defined $number;
    return syscall($number->{$name}, @arguments);
}

sub now {
    my $time = "\0" x 16;
    # Not by way of kernel(), which would have a copy written to.
    return time() if !defined $number || syscall($number->{clock_gettime}, CLOCK_MONOTONIC, $time) != 0;
    my ($seconds, $nanoseconds) = unpack('qq', $time);
    return $seconds + $nanoseconds / 1e9;
}

sub cpu_time { my ($user, $system) = times(); return $user + $system }

sub read_file {
    my ($path) = @_;
    open(my $file, '<', $path) or return '';
    local $/;
    return <$file> // '';
}

sub write_file {
    my ($path, $text) = @_;
    open(my $file, '>', $path) or return 0;
    my $written = syswrite($file, $text);
    return close($file) && defined $written;
}

my @ignored = qw(PIPE HUP INT TERM);

# --- talking to the agent -------------------------------------------------------------------------

open(my $control, '+<&=', 5) or exit 1;
fcntl($control, F_SETFD, FD_CLOEXEC);

sub report { syswrite($control, "$_[0]\n") }

# Leaves without any of the tidying up that perl does.
sub leave { kernel('exit_group', $_[0]); exit $_[0] }

sub give_up {
    my ($text) = @_;
    $text =~ s/\s+/ /g;
    report("failed $text");
    leave(1);
}

sub read_exactly {
    my ($size) = @_;
    my $text = '';
    while (length($text) < $size) {
        my $got = sysread($control, $text, $size - length($text), length($text));
        leave(1) unless $got;
    }
    return $text;
}

# Pairs of name and value; `env`, `arg`, `hide` come as often as needed.
sub read_order {
    my @pairs = unpack('(N/a*)*', read_exactly(unpack('N', read_exactly(4))));
    my %order = (env => [], arg => [], hide => []);
    while (my ($name, $value) = splice(@pairs, 0, 2)) {
        if (ref $order{$name}) { push @{ $order{$name} }, $value }
        else { $order{$name} = $value }
    }
    return \%order;
}

# --- namespaces -----------------------------------------------------------------------------------

sub enter_namespaces {
    my ($order) = @_;
    my $flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC;
    if ($order->{userns}) {
        my ($uid, $gid) = ($>, (split ' ', $))[0]);
        kernel('unshare', $flags | CLONE_NEWUSER) == 0 or give_up("user namespace: $!");
        # Never root in there: the program is nobody special, and loses every right at exec.
        my ($inner_uid, $inner_gid) = map { $_ == 0 ? NOBODY : $_ } $uid, $gid;
        write_file('/proc/self/setgroups', 'deny');
        write_file('/proc/self/gid_map', "$inner_gid $gid 1") or give_up("gid map: $!");
        write_file('/proc/self/uid_map', "$inner_uid $uid 1") or give_up("uid map: $!");
    } else {
        kernel('unshare', $flags) == 0 or give_up("namespaces: $!");
    }
}

sub mount_at {
    my ($source, $target, $type, $flags, $data) = @_;
    kernel('mount', $source, $target, $type, $flags + 0, $data // 0) == 0
      or give_up("mount of $target: $!");
}

sub set_read_only {
    my ($path, $flags, $is_read_only) = @_;
    my $attributes = pack('Q4', $is_read_only ? (MOUNT_ATTR_RDONLY, 0) : (0, MOUNT_ATTR_RDONLY), 0, 0);
    kernel('mount_setattr', AT_FDCWD, $path, $flags, $attributes, 32) == 0
      or give_up("read-only $path: $!");
}

sub make_folders {
    my ($path) = @_;
    my $made = '';
    # The agent makes files for itself alone; the program's user must get through these.
    my $umask = umask 0022;
    for my $step (grep { $_ ne '' } split m{/}, $path) {
        $made .= "/$step";
        mkdir($made, 0755);
    }
    umask $umask;
}

# The first folder on the way that the program's user may not pass. There is nothing in it for that user:
# it can be covered, so that the way is free.
sub barrier_before {
    my ($folder) = @_;
    my @steps = grep { $_ ne '' } split m{/}, $folder;
    pop @steps;
    my $path = '';
    for my $step (@steps) {
        $path .= "/$step";
        return $path unless ((stat($path))[2] // 1) & 1;
    }
    return;
}

# What the program sees: no process but its own, none of the hidden files and folders, its own shared
# memory; and, where it shares the agent's user, nothing to write to but its folder.
sub arrange_mounts {
    my ($order) = @_;
    my $folder = $order->{folder};
    mount_at('none', '/', 'none', MS_REC | MS_PRIVATE);
    # The folder is held by being in it while what is around it is covered.
    chdir($folder) or give_up("$folder: $!");
    my @barrier = defined $order->{uid} ? barrier_before($folder) : ();
    for my $path (@barrier, @{ $order->{hide} }) {
        if (-d $path) { mount_at('none', $path, 'tmpfs', MS_NOSUID | MS_NODEV, 'size=64k,mode=0755') }
        elsif (-e _) { mount_at('/dev/null', $path, 'none', MS_BIND) }
    }
    make_folders($folder);
    mount_at('.', $folder, 'none', MS_BIND);
    if ($order->{userns}) {
        set_read_only('/', AT_RECURSIVE, 1);
        set_read_only($folder, 0, 0);
    }
    if (-d '/dev/shm') {
        my $size = int($order->{memory} / 2);
        mount_at('none', '/dev/shm', 'tmpfs', MS_NOSUID | MS_NODEV, "size=$size,mode=1777");
    }
    mount_at('none', '/proc', 'proc', MS_NOSUID | MS_NODEV | MS_NOEXEC);
    chdir('/');
}

# --- the program ----------------------------------------------------------------------------------

sub limit {
    my ($resource, $value) = @_;
    kernel('prlimit64', 0, $resource, pack('QQ', $value, $value), 0);
}

# Becomes the program.
sub become {
    my ($order) = @_;
    kernel('setsid');
    kernel('prctl', PR_SET_DUMPABLE, 1, 0, 0, 0);
    # Whatever runs out of memory, it is the program that goes rather than the agent.
    write_file('/proc/self/oom_score_adj', '1000');
    # The agent measures times: it goes first.
    setpriority(0, 0, 5);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, $order->{disk});
    limit(RLIMIT_NOFILE, $order->{descriptors});
    # Only who may set capabilities can: root, or root of a user namespace. Nobody else could
    # get one of them back by a program that carries it, as that gives no new privileges.
    for my $capability (0 .. 63) {
        last if kernel('prctl', PR_CAPBSET_DROP, $capability, 0, 0, 0) != 0;
    }
    if (defined $order->{uid}) {
        my $id = $order->{uid} + 0;
        kernel('setgroups', 0, 0) == 0 or give_up("groups: $!");
        kernel('setresgid', $id, $id, $id) == 0 or give_up("group $id: $!");
        kernel('setresuid', $id, $id, $id) == 0 or give_up("user $id: $!");
    }
    # Counted by user, so only where the user is the run's own; threads count, hence so many.
    limit(RLIMIT_NPROC, $order->{processes} * 16) if defined $order->{uid} || $order->{userns};
    my $is_bound = kernel('prctl', PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 || $> != 0;
    # Of the agent, which may read packets, and be root where there are no other users: with no new
    # privileges not even root gets at exec what it had given up before.
    kernel('prctl', PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    kernel('capset', pack('L l', CAPABILITY_VERSION, 0), pack('L6', (0) x 6));
    # Where the numbers of the calls are not known, or a filter forbids them, nothing was done.
    give_up("rights of the agent could not be taken away")
      if !$is_bound || read_file('/proc/self/status') =~ /^Cap(?:Prm|Eff|Amb):\s*0*[1-9a-f]/m;
    kernel('prctl', PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    chdir($order->{cwd}) or give_up("the folder $order->{cwd} cannot be used: $!");
    $SIG{$_} = 'DEFAULT' for @ignored;
    %ENV = map { split /=/, $_, 2 } @{ $order->{env} };
    my @command = @{ $order->{arg} };
    no warnings 'exec';
    exec { $command[0] } @command;
    give_up("$command[0] could not be started: $!");
}

# --- what belongs to the program ------------------------------------------------------------------

# Everything that is alive, except this process.
sub members {
    my ($order) = @_;
    opendir(my $proc, '/proc') or return;
    my @pids = grep { /^\d+$/ && $_ != $$ } readdir($proc);
    return @pids if $order->{namespaces};
    my %children;
    for my $pid (@pids) {
        my ($parent) = read_file("/proc/$pid/stat") =~ /.*\) \S (\d+)/s or next;
        push @{ $children{$parent} }, $pid;
    }
    my @found = @{ $children{$$} // [] };
    for (my $i = 0; $i < @found; $i++) { push @found, @{ $children{ $found[$i] } // [] } }
    return @found;
}

my $page = 4096;

# Memory that processes have together. What they share is counted once, if that decides.
sub memory_of {
    my ($order, @pids) = @_;
    my ($resident, $own, $most_shared) = (0, 0, 0);
    for my $pid (@pids) {
        my (undef, $all, $shared) = split ' ', read_file("/proc/$pid/statm") or next;
        $resident += $all;
        $own += $all - $shared;
        $most_shared = $shared if $shared > $most_shared;
    }
    my $estimate = ($own + $most_shared) * $page;
    return $estimate if $resident * $page <= $order->{memory} || $estimate > $order->{memory};
    my $proportional = 0;
    for my $pid (@pids) {
        my ($kib) = read_file("/proc/$pid/smaps_rollup") =~ /^Pss:\s+(\d+)/m;
        $proportional += $kib * 1024 if defined $kib;
    }
    return $proportional > $estimate ? $proportional : $estimate;
}

# Adds up a folder, until it is too much; true then.
sub is_too_full {
    my ($order, $used, @folders) = @_;
    while (defined(my $folder = pop @folders)) {
        # Too deep for paths: there is no honest reason for that, and it could not be counted.
        return 1 if length($folder) > 3800;
        opendir(my $entries, $folder) or next;
        for my $name (readdir($entries)) {
            next if $name eq '.' || $name eq '..';
            my @facts = lstat("$folder/$name") or next;
            $used->{files}++;
            $used->{bytes} += $facts[12] * 512;
            push @folders, "$folder/$name" if -d _;
        }
        closedir($entries);
        return 1 if $used->{bytes} > $order->{disk} || $used->{files} > $order->{files};
    }
    return 0;
}

# Files that have no name any more still take room.
sub add_nameless {
    my ($used, @pids) = @_;
    my %seen;
    for my $pid (@pids) {
        opendir(my $descriptors, "/proc/$pid/fd") or next;
        for my $descriptor (readdir($descriptors)) {
            my @facts = stat("/proc/$pid/fd/$descriptor") or next;
            next if !-f _ || $facts[3] > 0 || $seen{"$facts[0]:$facts[1]"}++;
            $used->{bytes} += $facts[12] * 512;
        }
    }
}

sub uses_too_much_disk {
    my ($order, @pids) = @_;
    my %used = (bytes => 0, files => 0);
    add_nameless(\%used, @pids);
    my @folders = ($order->{folder});
    if (defined $order->{uid}) {
        for my $shared (qw(/tmp /var/tmp /dev/shm)) {
            opendir(my $entries, $shared) or next;
            for my $path (map { "$shared/$_" } grep { !/^\.\.?$/ } readdir($entries)) {
                my @facts = lstat($path) or next;
                next if $facts[4] != $order->{uid};
                $used{files}++;
                $used{bytes} += $facts[12] * 512;
                push @folders, $path if -d _;
            }
        }
    }
    return is_too_full($order, \%used, @folders) || $used{bytes} > $order->{disk};
}

# --- the end --------------------------------------------------------------------------------------

# Everything of a user at once: the kernel goes through all processes while none can be started.
sub kill_user {
    my ($uid) = @_;
    my $pid = fork();
    return unless defined $pid;
    if ($pid == 0) {
        kernel('setresuid', $uid + 0, $uid + 0, $uid + 0) == 0 or leave(1);
        kill('KILL', -1);
        leave(0);
    }
    waitpid($pid, 0);
}

sub reap {
    my ($program) = @_;
    my $status;
    while ((my $pid = waitpid(-1, WNOHANG)) != 0) {
        return (0, $status) if $pid == -1;
        $status = $? if $pid == $program;
    }
    return (1, $status);
}

# Without namespaces: stops what there is until nothing new appears, then kills it, until none is left.
sub kill_all {
    my ($order) = @_;
    for (my $round = 0; ; $round++) {
        my (%stopped, $found);
        do {
            $found = 0;
            for my $pid (grep { !$stopped{$_}++ } members($order)) { $found++; kill('STOP', $pid) }
        } while ($found > 0 && keys(%stopped) < 100_000);
        kill('KILL', keys %stopped);
        kill_user($order->{uid}) if $round >= 2 && defined $order->{uid};
        my ($has_children) = reap(0);
        return unless $has_children;
        select(undef, undef, undef, 0.01);
    }
}

# Starts the program, watches over it, and ends what it leaves.
sub manage {
    my ($order) = @_;
    my $program = fork();
    give_up("a process for the program: $!") unless defined $program;
    become($order) if $program == 0;
    open($_, '+<', '/dev/null') for *STDIN, *STDOUT, *STDERR;
    for my $descriptor (3, 4) { if (open(my $theirs, '<&=', $descriptor)) { close($theirs) } }
    # Readable when the program has ended.
    my $watch_number = kernel('pidfd_open', $program, 0);
    my $watch;
    if ($watch_number >= 0) { open($watch, '<&=', $watch_number) }

    my ($reason, $status, $has_children, $peak, $kill_at) = ('exit', undef, 1, 0, undef);
    my $deadline = now() + $order->{timeout};
    my ($next_look, $next_disk_look) = (now() + 0.1, now() + 0.25);
    my $stop = sub {
        my ($why, $grace) = @_;
        return if defined $kill_at;
        ($reason, $kill_at) = ($why, now() + $grace);
        if ($grace > 0) { kill('TERM', $_) for members($order) }
    };
    while (1) {
        ($has_children, my $ended) = reap($program);
        $status //= $ended;
        last if !$has_children || (defined $status && !defined $kill_at);
        my $time = now();
        last if defined $kill_at && $time >= $kill_at;
        $stop->('timeout', $order->{grace}) if $time >= $deadline;
        if ($time >= $next_look) {
            my @pids = members($order);
            my $memory = memory_of($order, @pids);
            $peak = $memory if $memory > $peak;
            if ($memory > $order->{memory}) { $stop->('memory', 0) }
            elsif (@pids > $order->{processes}) { $stop->('processes', 0) }
            elsif ($time >= $next_disk_look) {
                my $before = cpu_time();
                if (uses_too_much_disk($order, @pids)) { $stop->('disk', 0) }
                # Large trees are looked at less often: at most a tenth of a core goes into it.
                my $took = cpu_time() - $before;
                $next_disk_look = now() + ($took > 0.025 ? 10 * $took : 0.25);
            }
            $next_look = now() + 0.25;
        }
        my $until = $next_look;
        $until = $kill_at if defined $kill_at && $kill_at < $until;
        $until = $deadline if !defined $kill_at && $deadline < $until;
        # While it comes to its end, nothing tells when the last of its processes does.
        $until = $time + 0.02 if defined $kill_at && $until > $time + 0.02;
        my $wanted = '';
        vec($wanted, fileno($control), 1) = 1;
        vec($wanted, fileno($watch), 1) = 1 if defined $watch && !defined $status;
        my $left = $until - now();
        next if select(my $readable = $wanted, undef, undef, $left > 0 ? $left : 0) <= 0;
        if (vec($readable, fileno($control), 1)) {
            # The end of the control stream: the agent is dead.
            if (!sysread($control, my $bytes, 64)) { $stop->('cancelled', 0); $kill_at = now() }
            else { $stop->('cancelled', $order->{grace}) }
        }
    }
    # With namespaces the kernel does it when this process ends.
    if ($has_children && !$order->{namespaces}) { kill('KILL', $program) unless defined $status; kill_all($order) }
    $status //= SIGKILL;
    $reason = 'disk' if $reason eq 'exit' && ($status & 127) == SIGXFSZ;
    report("end $reason $status $peak");
}

# --- from the start -------------------------------------------------------------------------------

# What the agent was started with by others, or has open, is none of the program's business.
sub close_others {
    opendir(my $descriptors, '/proc/self/fd') or return;
    my @others = grep { /^\d+$/ && $_ > 5 } readdir($descriptors);
    closedir($descriptors);
    for my $descriptor (@others) { if (open(my $other, '<&=', $descriptor)) { close($other) } }
}

$SIG{$_} = 'IGNORE' for @ignored;
close_others();
my $order = read_order();
$number = $numbers{ $order->{architecture} };
kernel('prctl', PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
if (!$order->{namespaces}) {
    kernel('prctl', PR_SET_DUMPABLE, 0, 0, 0, 0);
    manage($order);
    report('gone');
    leave(0);
}
enter_namespaces($order);
my $manager = fork();
give_up("a process for the namespaces: $!") unless defined $manager;
if ($manager == 0) {
    kernel('prctl', PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    arrange_mounts($order);
    kernel('prctl', PR_SET_DUMPABLE, 0, 0, 0, 0);
    manage($order);
    leave(0);
}
kernel('prctl', PR_SET_DUMPABLE, 0, 0, 0, 0);
open($_, '+<', '/dev/null') for *STDIN, *STDOUT, *STDERR;
for my $descriptor (3, 4) { if (open(my $theirs, '<&=', $descriptor)) { close($theirs) } }
waitpid($manager, 0);
report('gone');
leave(0);
