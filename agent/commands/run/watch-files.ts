/** Which files changed, for `monitor-agent run --watch`. */
import { watch, type FSWatcher } from 'node:fs';
import { dirname, join } from 'node:path';
import { once } from 'node:events';

/** An editor writes a file in several steps. */
const settleMs = 100;

/** Watches the folders of files, and further folders. */
export class FileWatch implements Disposable {
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #changed = new Set<string>();
  readonly #events = new EventTarget();
  #timer: NodeJS.Timeout | undefined;

  /** Watches these from now on, and no others. A folder that is gone is left out. */
  watchOnly(files: readonly string[], folders: readonly string[]): void {
    const wanted = new Set([...files.map((file) => dirname(file)), ...folders]);
    for (const [folder, watcher] of this.#watchers) {
      if (wanted.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of wanted) {
      if (this.#watchers.has(folder)) continue;
      try {
        const watcher = watch(folder, (_event, name) => {
          if (name !== null) this.#note(join(folder, name));
        });
        watcher.on('error', () => this.#watchers.delete(folder));
        this.#watchers.set(folder, watcher);
      } catch {
        continue;
      }
    }
  }

  #note(path: string): void {
    this.#changed.add(path);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#events.dispatchEvent(new Event('settled')), settleMs);
  }

  /** What changed since it was asked last; waits for a change. Rejects when the signal is aborted. */
  async next(signal: AbortSignal): Promise<ReadonlySet<string>> {
    if (this.#changed.size === 0) await once(this.#events, 'settled', { signal });
    const changed = new Set(this.#changed);
    this.#changed.clear();
    return changed;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
  }
}
