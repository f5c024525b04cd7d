/** Routes that exchange a client token for a one-use ticket, and the ticket for the token. */
import { StudioError } from '../../common/errors.ts';
import { newTicket } from '../../protocol/client.ts';
import { Tickets } from '../access/tickets.ts';
import type { Tokens } from '../access/tokens.ts';
import { type Call, param, readJson } from '../http/call.ts';
import type { Route } from '../http/router.ts';

export function ticketRoutes(tokens: Tokens): Route[] {
  const tickets = new Tickets();
  return [
    { method: 'POST', path: '/v1/tickets', access: 'read', handle: (call) => issue(tickets, call) },
    {
      method: 'POST',
      path: '/v1/tickets/:ticket',
      access: 'anyone',
      handle: (call) => {
        call.request.resume();
        const found = tickets.redeem(param(call, 'ticket'));
        if (found !== undefined) return { token: found.edit ? tokens.full : tokens.read };
        throw new StudioError('unauthorized', 'This ticket was used, or is older than a minute.');
      },
    },
  ];
}

async function issue(tickets: Tickets, call: Call): Promise<{ ticket: string }> {
  const { edit } = await readJson(call, newTicket);
  if (edit && !(call.identity?.kind === 'client' && !call.identity.readOnly))
    throw new StudioError('forbidden', 'A read-only token cannot get a ticket for full access.');
  return { ticket: tickets.issue(edit) };
}
