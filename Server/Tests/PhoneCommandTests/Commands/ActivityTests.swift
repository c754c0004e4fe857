import Countersign
import Testing

@testable import PhoneCommand

@Suite("What the phone says of an account's activity")
struct ActivityTests {
    @Test(
        "The hint is a command line that a shell takes as it is",
        arguments: [
            ("alice", "~/.countersign-phone", "countersign-phone activity alice"),
            ("alice@example.com", "/tmp/p", "countersign-phone activity alice@example.com --home /tmp/p"),
            ("o'neil; rm", "my phone", "countersign-phone activity 'o'\\''neil; rm' --home 'my phone'"),
            ("-x", "~/.countersign-phone", "countersign-phone activity '-x'"),
            ("a\u{1B}[2J", "~/.countersign-phone", "countersign-phone activity a"),
        ])
    func hint(account: String, home: String, line: String) {
        #expect(ActivityCommand.line(account: account, home: home) == line)
    }

    @Test(
        "Each refusal has its ending",
        arguments: [
            (OperationError(.sessionUnknown), Ending.notFound, "session-unknown"),
            (OperationError(.accountLocked), .refused, "account-locked"),
            (OperationError(.notAuthorized), .refused, "not-authorized"),
            (OperationError(.networkError), .unreachable, "unreachable"),
            (.fido(.protocolError), .refused, "protocol-error"),
        ])
    func endings(error: OperationError, ending: Ending, reason: String) {
        let refusal = Refusal(error)
        #expect(refusal.status == ending)
        #expect(refusal.reason == reason)
    }
}
