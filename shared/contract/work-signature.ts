/** The signature of a check, for agents that run only signed work; `docs/signed-work.md` describes the format. */
import { z } from 'zod';

/** What `ssh-keygen -Y sign -n` takes. */
export const signatureNamespace = 'monitor-check';

/** The last millisecond of the year 9999. */
export const maxSignatureVersion = 253_402_300_799_999;

export const workSignature = z
  .object({
    version: z.int().min(1).max(maxSignatureVersion).meta({
      description:
        'Grows with every signature of the check, usually the time in milliseconds: agents refuse one that is lower than the last they have seen',
      example: 1_796_083_200_000,
    }),
    variables: z
      .array(z.string().min(1).max(1024))
      .max(1_000)
      .default([])
      .meta({
        description: 'The variables that its runs may see; agents leave out all others',
        example: ['SHOP_PASSWORD'],
      }),
    value: z.string().min(1).max(16_384).meta({
      description: 'As `ssh-keygen -Y sign -n monitor-check` writes it',
      example: '-----BEGIN SSH SIGNATURE-----\n…\n-----END SSH SIGNATURE-----\n',
    }),
  })
  .meta({ id: 'WorkSignature' });
export type WorkSignature = z.output<typeof workSignature>;

export const signatureState = z.enum(['NONE', 'VALID', 'CHANGED', 'UNREADABLE']).meta({
  description:
    'CHANGED: the check is not what was signed. Whether the key is trusted, only agents know: each has its own policy',
});
export type SignatureState = z.output<typeof signatureState>;

export const signedPart = workSignature
  .omit({ value: true })
  .extend({
    text: z
      .string()
      .meta({ description: 'To be signed as it is, without a line break at its end' }),
    state: signatureState,
  })
  .meta({ id: 'SignedPart' });
