/**
 * Pictures and films without secrets: what to look for in the pages of a run, and what became of its pictures.
 * They are painted over on their way out of the browser; see `inside/pictures/filter.cjs`.
 */
import type { EnvironmentEntry } from '@monitor/shared/contract/agent-protocol.ts';
import { z } from 'zod';
import type { Workspace } from '../script-host/script-host.ts';
import { needlesOf } from '../scrub/needles.ts';

/** `withhold`: what cannot be searched does not leave; `paint`: it does; `keep`: nothing is searched. */
export const picturePolicies = ['withhold', 'paint', 'keep'] as const;
export type PicturePolicy = (typeof picturePolicies)[number];

/** Texts that stand on a page in place of a secret. */
export interface WatchedPictures {
  readonly forms: readonly { readonly text: string; readonly anyCase: boolean }[];
  readonly isStrict: boolean;
}

export const pictureNote = z.object({
  what: z.enum(['browser', 'picture', 'frame']),
  reason: z.string().max(500).nullable(),
});
export type PictureNote = z.output<typeof pictureNote>;

/** Encodings of the value as it is written come first; a page shows hardly any of the others. */
const maxFormsOfSecret = 120;
const maxForms = 3_000;
const maxFormLength = 4_096;
const maxNotesBytes = 4 * 1024 * 1024;
const unwritten = /[\x00-\x08\x0e-\x1f\x7f\ufffd]/;

/** What the scrubber counts as a secret, in all forms that are text. */
export function pictureForms(secrets: Iterable<string>): WatchedPictures['forms'] {
  const all = [...new Set(secrets)].map((secret) =>
    needlesOf(secret)
      .filter(({ base64 }) => base64 === undefined || base64 === 'form')
      .map(({ bytes, anyCase }) => ({ text: bytes.toString(), anyCase }))
      .filter(({ text }) => text.length <= maxFormLength && !unwritten.test(text)),
  );
  // The values themselves before any encodings.
  const byRank = Array.from({ length: maxFormsOfSecret }, (_, rank) =>
    all.map((forms) => forms[rank]),
  );
  return byRank
    .flat()
    .flatMap((form) => form ?? [])
    .slice(0, maxForms);
}

export class RunPictures {
  /** Null when nothing has to be looked for. */
  readonly watched: WatchedPictures | null;

  constructor(environment: readonly EnvironmentEntry[], policy: PicturePolicy) {
    const secrets = environment.flatMap(({ secret, value }) => (secret ? [value] : []));
    const forms = policy === 'keep' ? [] : pictureForms(secrets);
    this.watched = forms.length === 0 ? null : { forms, isStrict: policy === 'withhold' };
  }

  /** Says in a folder of the run what to look for; see `watchRun`. */
  async write(workspace: Workspace, folder: string): Promise<void> {
    if (this.watched === null) return;
    await workspace.write(`${folder}/pictures.json`, JSON.stringify(this.watched));
  }

  /** Reads what browsers that the run started itself noted there; notes that make no sense are left out. */
  async notes(workspace: Workspace, folder: string): Promise<PictureNote[]> {
    if (this.watched === null) return [];
    await using file = await workspace.read(`${folder}/pictures.jsonl`);
    const buffer = Buffer.alloc(maxNotesBytes);
    const { bytesRead = 0 } = (await file?.read(buffer, 0, maxNotesBytes, 0)) ?? {};
    return buffer
      .toString('utf8', 0, bytesRead)
      .split('\n')
      .flatMap((line) => {
        try {
          return pictureNote.parse(JSON.parse(line));
        } catch {
          return [];
        }
      });
  }

  /**
   * What became of them: lines for the log of the run, and why none may leave, or null. `learned` are secrets that the
   * run itself reported, which nothing looked for.
   */
  seen(notes: readonly PictureNote[], learned: readonly string[] = []) {
    const { forms, isStrict } = this.watched ?? { forms: [], isStrict: false };
    const { browser: browsers = [], ...pictures } = Object.groupBy(notes, ({ what }) => what);
    const known = new Set(forms.map(({ text }) => text.toLowerCase()));
    const isLate = pictureForms(learned).some(({ text }) => !known.has(text.toLowerCase()));
    const withheld =
      browsers.length === 0
        ? 'no browser was watched in which secrets could be found'
        : (browsers.find(({ reason }) => reason !== null)?.reason ??
          (isLate ? 'the script set a secret after the run had begun' : null));
    const byReason = Map.groupBy(Object.values(pictures).flat(), ({ reason }) => reason);
    const lines = [...byReason].map(([reason, all]) => {
      if (reason === null)
        return { msg: 'secrets are painted over in pictures of this run', level: 'INFO' as const };
      const msg = `pictures and frames of films withheld (${all.length}): ${reason}`;
      return { msg, level: 'WARN' as const };
    });
    return { withheld: isStrict ? withheld : null, lines };
  }
}
