/** The processors that images are built for, as engines name them. */
import { readdirSync, readFileSync } from 'node:fs';
import { buildah } from './buildah.ts';

export const architectures = ['amd64', 'arm64'] as const;
export type Architecture = (typeof architectures)[number];

export const thisArchitecture: Architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';

/** The ELF machine of each, as the kernel is asked for in binfmt_misc. */
const emulators: Readonly<Record<Architecture, string>> = {
  amd64: 'qemu-x86_64',
  arm64: 'qemu-aarch64',
};
const binfmt = '/proc/sys/fs/binfmt_misc';

/** Why this machine cannot run programs of an architecture, with what to do; null where it can. */
export function architectureProblem(arch: Architecture): string | null {
  if (arch === thisArchitecture) return null;
  const wanted = emulators[arch];
  const advice = `for ${arch} on ${thisArchitecture}: apt-get install qemu-user-static binfmt-support, and mount binfmt_misc at ${binfmt}`;
  try {
    if (!readdirSync(binfmt).includes(wanted)) return `${wanted} is not registered; ${advice}`;
    const flags = /^flags: (.*)$/m.exec(readFileSync(`${binfmt}/${wanted}`, 'utf8'))?.[1] ?? '';
    // Without it the emulator would have to be in the image.
    return flags.includes('F') ? null : `${wanted} is registered without the flag F; ${advice}`;
  } catch {
    return `binfmt_misc cannot be read; ${advice}`;
  }
}

/** The architecture given on the command line. Throws for one that there is not. */
export function parseArchitecture(text: string | undefined): Architecture {
  if (text === undefined) return thisArchitecture;
  const found = architectures.find((each) => each === text);
  if (found === undefined) {
    throw new Error(`there is no architecture "${text}"; there are ${architectures.join(' and ')}`);
  }
  return found;
}

/** For which architecture an image in the store is; null when it is not there. */
export async function architectureOf(image: string): Promise<string | null> {
  const format = '{{.OCIv1.Architecture}}';
  return buildah('inspect', '--type', 'image', '--format', format, image).catch(() => null);
}
