interface AddressedPage {
  /** The slug under which this installation shows the page. */
  url: string;
  customDomain: string | null;
}

/**
 * Where people find a status page, without a slash at the end: `https://status.example.com`, or
 * `{publicUrl}/status/{url}` of a page that has no domain of its own.
 */
export function publicAddressOf(page: AddressedPage, publicUrl: string): string {
  return page.customDomain === null
    ? `${publicUrl}/status/${page.url}`
    : `https://${page.customDomain}`;
}
