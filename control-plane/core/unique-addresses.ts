import { takenField } from '../errors/api-error.ts';

/**
 * Refuses an address of a public page that another page has. Pages are found by them, whatever the
 * account, so they are unique in the whole installation. `addresses` are by the field of the body;
 * `ownerOf` gives the id of the page that has one.
 */
export async function refuseTakenAddresses<Field extends string, Id extends string | number>(
  addresses: Readonly<Record<Field, string | null>>,
  ownId: Id | null,
  ownerOf: (field: Field, address: string) => Promise<{ id: Id } | undefined>,
): Promise<void> {
  for (const [field, address] of Object.entries(addresses) as [Field, string | null][]) {
    if (address === null) continue;
    const owner = await ownerOf(field, address);
    if (owner !== undefined && owner.id !== ownId) throw takenField(field, address);
  }
}
