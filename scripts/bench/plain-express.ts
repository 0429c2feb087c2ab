/** The floor of an answer: Express giving bytes it was handed. Argument: the bytes. Prints its port. */
import type { AddressInfo } from 'node:net';
import express from 'express';

const [bytes = ''] = process.argv.slice(2);
const app = express();
app.disable('x-powered-by');
app.set('etag', false);
app.use(express.json());
app.all('/{*path}', (_request, response) => {
  response.type('json').send(bytes);
});
const server = app.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
