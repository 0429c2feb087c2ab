/**
 * How the index is made and asked: both sides must agree.
 * @type {Pick<import('minisearch').Options, 'fields' | 'storeFields' | 'searchOptions'>}
 */
export const searchOptions = {
  fields: ['title', 'heading', 'text'],
  storeFields: ['title', 'heading', 'excerpt'],
  searchOptions: { boost: { title: 4, heading: 3 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' },
};
