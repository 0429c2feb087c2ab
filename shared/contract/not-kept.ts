/**
 * Fields of existing clients that this version does not have and that a resource without them would not
 * behave as meant: they are refused by name. All other unknown fields are ignored, and named to the client.
 */
export const lossOf: ReadonlyMap<string, string> = new Map([
  ['snapshots', 'no picture would be compared'],
  ['setupScriptDependencies', 'its setup script would lack these files'],
  ['tearDownScriptDependencies', 'its teardown script would lack these files'],
]);
