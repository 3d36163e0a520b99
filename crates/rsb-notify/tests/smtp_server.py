"""An SMTP server with TLS on loopback, which writes each mail to a file.

Arguments: certificate, key and directory. Prints the port with STARTTLS and the port with TLS from
the beginning, and ends with its standard input. The only user is `bench`, password `secret`.
"""

import asyncio
import itertools
import ssl
import sys
from pathlib import Path

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

certificate, key, directory = sys.argv[1:]
numbers = itertools.count()


class Handler:
    """Stores mails.

    Rejects the sender `banned@lab.example` and the recipient `nobody@lab.example`; answers
    `busy@lab.example` and `full@lab.example` with a temporary error.
    """

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Returns the answer to a sender."""
        if address == "banned@lab.example":
            return "550 sender rejected"
        if address == "busy@lab.example":
            return "451 try again later"
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Returns the answer to a recipient."""
        if address == "nobody@lab.example":
            return "550 no such user"
        if address == "full@lab.example":
            return "452 mailbox full"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """Writes a mail to a file, preceded by its recipients."""
        content = envelope.content
        assert isinstance(content, bytes)
        recipients = " ".join(envelope.rcpt_tos).encode()
        path = Path(directory, f"mail-{next(numbers):03}")
        path.write_bytes(b"Recipients: " + recipients + b"\r\n" + content)
        return "250 OK"


def authenticate(
    server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: LoginPassword
) -> AuthResult:
    """Accepts the only user."""
    return AuthResult(success=data == LoginPassword(b"bench", b"secret"))


async def main() -> None:
    """Serves until standard input ends."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    loop = asyncio.get_running_loop()

    def starttls() -> SMTP:
        return SMTP(
            Handler(), tls_context=context, require_starttls=True, authenticator=authenticate, auth_required=True
        )

    def implicit() -> SMTP:
        return SMTP(Handler(), authenticator=authenticate, auth_required=True, auth_require_tls=False)

    servers = [
        await loop.create_server(starttls, "127.0.0.1", 0),
        await loop.create_server(implicit, "127.0.0.1", 0, ssl=context),
    ]
    print(*(server.sockets[0].getsockname()[1] for server in servers), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())
