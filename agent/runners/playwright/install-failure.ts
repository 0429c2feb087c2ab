/** Why an installation failed, by the words of its installer: npm, pnpm, yarn (1 and later) or bun. Pure. */
import { stripVTControlCharacters } from 'node:util';

/** What is not the suite's: the way to the registry, its certificate, the disk of this machine. */
export type InstallObstacle = 'network' | 'certificate' | 'disk';

/** Lines in which an installer speaks for itself, rather than a script that it ran. */
const ofInstaller =
  /^(npm (error|ERR!) |\s*ERR_PNPM_|\s*WARN {2}GET |error[: ]|➤ YN\d{4}: |info There appears)/;

/** A script of a package failed: whatever it said is the suite's. */
const scriptFailed =
  /^npm (error|ERR!) (code \d+$|command failed)|^\s*ELIFECYCLE|^error Command failed|^➤ YN0009:|^error: \w+ script from /m;

const words: readonly (readonly [InstallObstacle, RegExp])[] = [
  ['disk', /\b(ENOSPC|EDQUOT|EROFS|EIO|EMFILE|ENFILE)\b|no space left on device|NoSpaceLeft/i],
  [
    'certificate',
    /SELF_SIGNED_CERT|UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)|\bCERT_[A-Z_]+|ERR_(TLS|SSL)_|\bEPROTO\b|self[- ]signed certificate|unable to (get|verify) .*certificate|certificate has expired/,
  ],
  [
    'network',
    /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|E(SOCKET)?TIMEDOUT|EHOSTUNREACH|ENETUNREACH|ERR_SOCKET_TIMEOUT|E407|E429|E5\d\d)\b|ERR_PNPM_(META_FETCH_FAIL|FETCH_(407|429|5\d\d))|Response Code: (407|429|5\d\d)|^error: \w+ downloading |^error: GET \S+ - (407|429|5\d\d)$|socket hang up|trouble with (your network connection|the npm registry)/,
  ],
];

/** What stood in the way of an installation; null when the suite itself did. */
export function obstacleIn(output: {
  stdout: string;
  stderr: string;
}): { kind: InstallObstacle; line: string } | null {
  const text = stripVTControlCharacters(`${output.stderr}\n${output.stdout}`);
  if (scriptFailed.test(text)) return null;
  const lines = text.split('\n').filter((line) => ofInstaller.test(line));
  for (const [kind, pattern] of words) {
    const line = lines.find((one) => pattern.test(one));
    if (line !== undefined) return { kind, line: line.trim() };
  }
  return null;
}
