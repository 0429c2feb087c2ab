/** What a process can ask the kernel about itself: subreaper, protection from its own user, its environment. */
import { checked, nativeMemory, type Libc } from './libc.ts';

const PR_SET_DUMPABLE = 4;
const PR_SET_CHILD_SUBREAPER = 36;
const PR_SET_NO_NEW_PRIVS = 38;
const WNOHANG = 1;
const CLOSE_RANGE_CLOEXEC = 4;
const lastDescriptor = 0xffff_ffff;

/** Processes below this one that lose their parent become its children. */
export function becomeSubreaper(libc: Libc): void {
  checked('prctl', libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
}

/** Closes memory, environment and descriptors of this process to others of its user. */
export function guardFromOwnUser(libc: Libc): void {
  checked('prctl', libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

/** Neither this process nor what it starts from now on gets a right from a file. */
export function refuseNewRights(libc: Libc): void {
  checked('prctl', libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

/** Children get none of the descriptors that this process was started with, beyond the standard ones. */
export function keepDescriptorsFromChildren(libc: Libc): void {
  checked('close_range', libc.close_range(3, lastDescriptor, CLOSE_RANGE_CLOEXEC));
}

/** Takes the exit status of a child that has ended. Only for children that Node does not know of. */
export function reap(libc: Libc, pid: number): void {
  libc.waitpid(pid, nativeMemory(4), WNOHANG);
}

/**
 * Overwrites variables where the kernel shows them (`/proc/PID/environ`), if there is a library, and
 * deletes them from `environment`, that of this process.
 */
export function takeFromEnvironment(
  libc: Libc | null,
  names: readonly string[],
  environment: Record<string, string | undefined>,
): void {
  for (const name of names) {
    const value = environment[name];
    if (value === undefined) continue;
    const at = libc?.getenv(name) ?? null;
    if (libc !== null && at !== null) {
      const bytes = libc.view(at, Buffer.byteLength(value));
      // What is no UTF-8 has become longer as text: behind its end are other variables.
      const end = bytes.indexOf(0);
      bytes.fill(0, 0, end === -1 ? bytes.length : end);
    }
    delete environment[name];
  }
}
