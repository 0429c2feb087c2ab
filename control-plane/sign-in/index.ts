export { serveSignIn } from './serve-sign-in.ts';
