/** How results are decrypted. `npm run build` makes it one file. */
export {
  DecryptionError,
  createKeyFile,
  openFile,
  openKeyFile,
  openResult,
  parseKeyFile,
} from '@monitor/shared/encryption/encryption.ts';
