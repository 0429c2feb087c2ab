/** The formats that `import` takes, in the order in which they are recognised. */
export const formatNames = [
  'kuma',
  'gatus',
  'prometheus',
  'blackbox',
  'openstatus',
  'csv',
] as const;

export type Format = (typeof formatNames)[number];
