declare module '../core/services.ts' {
  interface Services {
    /** What follows from the commit of a deployment, beyond what each of its changes does. */
    afterDeployment: {
      /** Keys of locations may be gone. */
      forgetKeys(): void;
      /** Consoles and status pages show other things; `what` are first words of paths such as `checks`. */
      announce(accountId: string, what: ReadonlySet<string>): void;
    };
  }
}
