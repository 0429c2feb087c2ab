/** A small shop to check: a catalogue, a cart, a login. What it shows can be changed while it runs. */
import { httpServer, type TestServer } from './servers.ts';

export interface WebShop extends TestServer {
  /** Changes what the shop shows. */
  look: {
    price: string;
    buyLabel: string;
    buyTestId: string | null;
    priceId: string;
    extra: string;
    redirectTo: string | null;
  };
  paths: string[];
  logins: string[];
}

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title></head><body>${body}</body></html>`;
}

/** Starts the shop. */
export async function webShop(): Promise<WebShop> {
  const look: WebShop['look'] = {
    ...{ price: '12 €', buyLabel: 'Add to cart', buyTestId: null, priceId: 'total', extra: '' },
    redirectTo: null,
  };
  const paths: string[] = [];
  const logins: string[] = [];
  const server = await httpServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://shop');
    paths.push(url.pathname);
    if (look.redirectTo !== null) {
      response.writeHead(302, { location: look.redirectTo }).end();
      return;
    }
    response.setHeader('content-type', 'text/html; charset=utf-8');
    const testId = look.buyTestId === null ? '' : ` data-testid="${look.buyTestId}"`;
    if (url.pathname === '/') {
      response.end(
        page(
          'Shop',
          `<h1>Lamps</h1><p>A lamp</p><form action="/cart"><button${testId}>${look.buyLabel}</button></form><a href="/login">Log in</a>${look.extra}`,
        ),
      );
    } else if (url.pathname === '/cart') {
      response.end(
        page(
          'Cart',
          `<h1>Cart</h1><p>Total</p><p id="${look.priceId}">${look.price}</p>${look.extra}`,
        ),
      );
    } else if (url.pathname === '/login') {
      response.end(
        page(
          'Log in',
          `<form action="/account"><label>User <input name="user"></label><label>Password <input name="password" type="password"></label><button>Log in</button></form>${look.extra}`,
        ),
      );
    } else if (url.pathname === '/account') {
      const { user = '', password = '' } = Object.fromEntries(url.searchParams);
      logins.push(`${user}:${password}`);
      response.end(page('Account', `<h1>Hello ${user}</h1><p>Your password is ${password}</p>`));
    } else {
      response.writeHead(404).end(page('Not found', '<h1>Not found</h1>'));
    }
  });
  return { ...server, look, paths, logins };
}
