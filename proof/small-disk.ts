/** A small disk in memory that can be filled. Only root may mount one. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, rmdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const block = Buffer.alloc(1 << 20);

/** A disk that its kernel makes read-only while it is used, as after an error of the device. Only root may mount one. */
export class FailingDisk implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'failing-disk-'));
  readonly #image = `${this.path}.img`;

  /** Throws where this process may not mount. */
  constructor() {
    try {
      execFileSync('truncate', ['--size', '64M', this.#image]);
      execFileSync('mkfs.ext4', ['-q', '-F', this.#image], { stdio: 'pipe' });
      execFileSync('mount', ['-o', 'loop', this.#image, this.path], { stdio: 'pipe' });
    } catch (error) {
      this.#remove();
      throw error;
    }
  }

  fail(): void {
    execFileSync('mount', ['-o', 'remount,abort', this.path], { stdio: 'pipe' });
  }

  #remove(): void {
    rmSync(this.#image, { force: true });
    rmdirSync(this.path);
  }

  [Symbol.dispose](): void {
    execFileSync('umount', ['--lazy', this.path]);
    this.#remove();
  }
}

export class SmallDisk implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'small-disk-'));
  readonly #ballast = join(this.path, 'ballast');

  /** Throws where this process may not mount. */
  constructor(megabytes: number) {
    const args = ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'small-disk', this.path];
    try {
      execFileSync('mount', args, { stdio: 'pipe' });
    } catch (error) {
      rmdirSync(this.path);
      throw error;
    }
    chmodSync(this.path, 0o755);
  }

  /** Takes all room that is left. */
  async fill(): Promise<void> {
    const file = await open(this.#ballast, 'a');
    try {
      for (let size = block.length; size >= 1;) {
        try {
          await file.write(block, 0, size);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
          size = Math.floor(size / 2);
        }
      }
    } finally {
      await file.close();
    }
  }

  free(): void {
    rmSync(this.#ballast, { force: true });
  }

  [Symbol.dispose](): void {
    execFileSync('umount', ['--lazy', this.path]);
    rmdirSync(this.path);
  }
}
