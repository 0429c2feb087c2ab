/** The pages of the settings, by the names of their addresses. */
export const settingsPages: [name: string, word: string, isOfAdmins?: true][] = [
  ['account', 'Account'],
  ['profile', 'Profile'],
  ['people', 'People', true],
  ['audit', 'Audit log', true],
  ['key', 'API keys'],
  ['channel', 'Channels'],
  ['policy', 'Escalation policies'],
  ['group', 'Groups'],
  ['variable', 'Variables'],
  ['snippet', 'Snippets'],
  ['service', 'Services'],
  ['certificate', 'Client certificates'],
];
