import { homedir } from 'node:os';

/** HOME, or the folder of /etc/passwd. A user id that has neither, as in containers, gets `/`. */
export function homeFolder(): string {
  try {
    return homedir();
  } catch {
    return '/';
  }
}
