/** Routes that exchange a token for a one-use ticket, and the ticket for the token. */
import { StudioError } from '../../common/errors.ts';
import { newTicket } from '../../protocol/client.ts';
import { Tickets } from '../access/tickets.ts';
import type { Tokens } from '../access/tokens.ts';
import { type Call, param, readJson } from '../http/call.ts';
import type { RouteHandler } from '../http/router.ts';

export function ticketRoutes(tokens: Tokens): RouteHandler[] {
  const tickets = new Tickets();
  return [
    { method: 'POST', path: '/v1/tickets', handle: (call) => issue(tickets, tokens, call) },
    {
      method: 'POST',
      path: '/v1/tickets/:ticket',
      handle: (call) => {
        call.request.resume();
        const found = tickets.redeem(param(call, 'ticket'));
        if (found !== undefined) return { token: found };
        throw new StudioError('unauthorized', 'This ticket was used, or is older than a minute.');
      },
    },
  ];
}

async function issue(tickets: Tickets, tokens: Tokens, call: Call): Promise<{ ticket: string }> {
  const { edit } = await readJson(call, newTicket);
  const { identity } = call;
  if (identity?.kind !== 'client') throw new StudioError('forbidden', 'Only clients get tickets.');
  const { session, rights } = identity;
  if (session === undefined) {
    if (edit && !rights.has('control'))
      throw new StudioError('forbidden', 'A read-only token cannot get a ticket for full access.');
    return { ticket: tickets.issue(edit ? tokens.full : tokens.read) };
  }
  if (edit && session.readOnly === true)
    throw new StudioError('forbidden', 'A read-only token cannot get a ticket for full access.');
  return { ticket: tickets.issue(tokens.user(edit ? session : { ...session, readOnly: true })) };
}
