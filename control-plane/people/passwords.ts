/**
 * Passwords as argon2id hashes. A hash takes 19 MiB and about 30 ms of a processor, so that guessing
 * is slow; only a few are computed at once, and a bounded number waits, so that guessing from many
 * addresses costs neither the memory of this process nor the threads of its files and DNS.
 */
import { argon2, randomBytes, timingSafeEqual, type Argon2Parameters } from 'node:crypto';
import { promisify } from 'node:util';
import { ApiError } from '../errors/api-error.ts';

/** The minimum that OWASP recommends for argon2id with one lane. */
const cost = { memory: 19_456, passes: 2, parallelism: 1 };
const tagLength = 32;
const saltBytes = 16;
const atOnce = 2;
const maxWaiting = 64;

const derived = promisify<'argon2id', Argon2Parameters, Buffer>(argon2);

interface Hash {
  memory: number;
  passes: number;
  parallelism: number;
  salt: Buffer;
  tag: Buffer;
}

const toBase64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

/** PHC string: `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<tag>`. */
function format({ memory, passes, parallelism, salt, tag }: Hash): string {
  const parameters = `m=${memory},t=${passes},p=${parallelism}`;
  return `$argon2id$v=19$${parameters}$${toBase64(salt)}$${toBase64(tag)}`;
}

function parse(text: string): Hash {
  const [, memory, passes, parallelism, salt = '', tag = ''] =
    /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(text) ?? [];
  if (tag === '') throw new Error('a stored password hash is damaged');
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  };
}

/** One per process, because memory and threads are those of the process. */
export class Passwords {
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #decoy: Hash = {
    ...cost,
    salt: randomBytes(saltBytes),
    tag: randomBytes(tagLength),
  };

  async hash(password: string): Promise<string> {
    const salt = randomBytes(saltBytes);
    return format({ ...cost, salt, tag: await this.#derive(password, { ...cost, salt }) });
  }

  /**
   * Compares in constant time. Without a hash it takes the same time and gives false: nobody learns
   * from the time which people exist.
   */
  async matches(password: string, hash: string | null): Promise<boolean> {
    const stored = hash === null ? this.#decoy : parse(hash);
    const tag = await this.#derive(password, stored);
    return tag.length === stored.tag.length && timingSafeEqual(tag, stored.tag) && hash !== null;
  }

  async #derive(password: string, { salt, ...of }: Omit<Hash, 'tag'>): Promise<Buffer> {
    if (this.#running >= atOnce) {
      if (this.#waiting.length >= maxWaiting) {
        throw new ApiError('TOO_MANY_REQUESTS', 'too many people sign in at once; try again', {
          retryAfterSeconds: 5,
        });
      }
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    } else {
      this.#running += 1;
    }
    try {
      return await derived('argon2id', {
        ...{ memory: of.memory, passes: of.passes, parallelism: of.parallelism, tagLength },
        message: Buffer.from(password.normalize('NFC')),
        nonce: salt,
      });
    } finally {
      const next = this.#waiting.shift();
      // The turn is handed over, so that nobody who comes now overtakes.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
