interface AddressedPage {
  /** The slug of the page. */
  url: string;
  customDomain: string | null;
}

/**
 * Public URL of a status page, without a slash at the end: `https://status.example.com`, or
 * `{publicUrl}/status/{url}` without a custom domain.
 */
export function publicAddressOf(page: AddressedPage, publicUrl: string): string {
  return page.customDomain === null
    ? `${publicUrl}/status/${page.url}`
    : `https://${page.customDomain}`;
}
