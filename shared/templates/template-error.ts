/** A template of the customer that cannot be read or completed. Says why, never with what values. */
export class TemplateError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TemplateError';
  }
}
