import { takenField } from '../errors/api-error.ts';

/**
 * Refuses an address that another public page uses. Addresses identify pages without an account, so
 * they are unique in the installation. `addresses` are by field of the body; `ownerOf` gives the id
 * of the page with an address.
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
