import ArgumentParser
import Countersign
import Testing

@testable import PhoneCommand

@Suite("What the commands take")
struct OptionsTests {
    /// Whether a command line is refused before anything is done.
    private func isRefused(_ line: [String]) -> Bool { (try? PhoneCommand.parseAsRoot(line)) == nil }

    @Test(
        "An enrolment names what the person answers with",
        arguments: [
            ("pin", AuthenticatorName.pin), ("password", .password), ("fingerprint", .fingerprint), ("face", .face),
            ("passcode", .passcode), ("device", .device),
        ])
    func authenticators(word: String, name: AuthenticatorName) throws {
        let command = try EnrollCommand.parse(["https://id.example/x", "--authenticator", word])
        #expect(command.answers.authenticator == name)
    }

    @Test(
        "What excludes each other, and what is not known, is refused",
        arguments: [
            ["enroll", "x", "--authenticator", "finger"], ["enroll", "x", "--pin-stdin", "--password-stdin"],
            ["enroll", "x", "--pin", "1", "--password-stdin"], ["scan", "x", "--pin", "1", "--pin-stdin"],
            ["scan", "x", "--approve", "--deny"], ["scan"], ["revoke", "s"], ["deregister"],
            ["inbox", "alice", "--approve", "--deny"], ["inbox", "--watch", "--approve"],
            ["inbox", "--watch", "--not-me"],
            ["inbox", "--watch", "--question", "q"],
            ["inbox", "alice", "--approve", "--not-me"], ["inbox", "alice", "--deny", "--not-me"],
            ["sign-in", "--browser", "--password", "alice"], ["webview"],
            ["deregister", "alice", "--only", "everything"], ["sensor", "--fingerprint", "none"],
            ["sensor", "--face", "wink"], ["sensor", "--passcode", "changed"], ["clock", "--skew", "86401"],
            ["clock", "--skew", "-86401"], ["integrity", "--sound", "--rooted"], ["trust", "https://id.example"],
            ["app", "--none", "--name", "a"],
            ["scan", "x", "--alias", "email"], ["scan", "x", "--alias", "shoeSize=home"],
            ["scan", "x", "--factor", "pin,nose"], ["scan", "x", "--factor", "pin,pin"], ["scan", "x", "--factor", ""],
            ["pin", "change", "--pin", "1", "--pin-stdin"], ["pin", "change", "alice", "--pin", "1"],
            ["pin", "change", "alice", "--password-stdin"], ["pin", "change", "alice", "bob"],
            ["password", "change"], ["password", "change", "alice", "--pin-stdin"],
            ["password", "change", "alice", "--password", "s3cret"], ["password", "change", "alice", "old", "new"],
        ])
    func refused(line: [String]) {
        #expect(self.isRefused(line))
    }

    @Test(
        "What goes together is taken",
        arguments: [
            ["enroll", "x", "--authenticator", "password", "--password-stdin", "--name", "n"],
            ["scan", "-", "--deny", "--json"], ["deregister", "alice", "--only", "face", "--pin-stdin"],
            ["sensor", "--fingerprint", "changed", "--face", "no-match", "--passcode", "none"], ["sensor"],
            ["clock", "--skew", "-86400"], ["revoke", "s", "--account", "alice"],
            ["inbox", "alice", "--not-me"],
            ["inbox", "alice", "--question", "q", "--deny", "--pin-stdin"], ["inbox", "alice"], ["inbox"],
            ["inbox", "--watch"], ["inbox", "alice", "--watch", "--json"],
            ["sign-in", "--client-id", "c", "--browser", "--no-biometric"], ["session"], ["sign-out"],
            [
                "sign-in", "--application", "a", "--web-application", "w", "--web-host", "a.example", "--web-host",
                "b.example",
            ],
            ["webview", "https://a.example/", "--no-sso"],
            [
                "scan", "x", "--role", "official", "--alias", "email=work=office", "--alias", "givenName=mine",
                "--factor", "device,pin", "--value-stdin", "--pin-stdin", "--approve",
            ],
            ["enroll", "x", "--biometric", "--name", "n", "--pin-stdin"], ["identities"], ["factor", "add"],
            ["pin", "change"], ["pin", "change", "--pin-stdin"], ["pin", "change", "alice", "--pin-stdin", "--json"],
            ["password", "change", "alice"], ["password", "change", "alice", "--password-stdin"],
            ["activation", "new", "--name", "n", "--mail", "--qr-file", "f.png", "--pin-stdin"],
            ["account", "delete", "--approve"], ["depersonalize", "--approve", "--server", "https://id.example"],
            ["integrity", "--rooted", "--hooked"], ["integrity"], ["trust", "https://id.example", "--key", "-"],
            ["app", "--name", "ABCDE12345.a"], ["app", "--none"],
        ])
    func taken(line: [String]) {
        #expect(!self.isRefused(line))
    }

    @Test("A PIN on the command line is for this machine alone; one on the standard input goes anywhere")
    func pinArgument() throws {
        let here = try #require(ServerAddress("http://127.0.0.1:8080"))
        let elsewhere = try #require(ServerAddress("https://id.example"))
        let argument = try AnswerOptions.parse(["--pin", "258036"])
        try argument.checkArguments(for: here)
        #expect { try argument.checkArguments(for: elsewhere) } throws: { ($0 as? Refusal)?.status == .usage }
        for option in ["--pin-stdin", "--password-stdin"] {
            let options = try AnswerOptions.parse([option])
            #expect(options.takesStandardInput)
            try options.checkArguments(for: elsewhere)
        }
        #expect(try !AnswerOptions.parse(["--pin", "1"]).takesStandardInput)
    }

    @Test("A secret is given once, and only for what it is")
    func secrets() throws {
        var script = ScriptedAnswers(try AnswerOptions.parse(["--pin", "258036"]))
        #expect(script.secret == .pin)
        #expect(script.next(.password) == nil)
        #expect(script.next(.pin) == "258036")
        #expect(script.next(.pin) == nil)
        var silent = ScriptedAnswers(try AnswerOptions.parse([]))
        #expect(silent.secret == nil && silent.next(.pin) == nil && silent.decision == nil)
    }

    @Test("What follows the phone's own request has an answer of its own, and the next secret, or the only one")
    func divided() throws {
        var denying = ScriptedAnswers(try AnswerOptions.parse(["--deny", "--pin", "258036"]))
        var following = denying.dividedAfterOwnRequest()
        #expect(denying.decision == .approve && following.decision == .deny)
        #expect(denying.next(.pin) == "258036" && following.next(.pin) == "258036")
        #expect(following.next(.pin) == nil)
    }

    @Test("A script's own word counts before what a command means")
    func decisions() throws {
        var denied = ScriptedAnswers(try AnswerOptions.parse(["--deny"]))
        denied.approveEnrolment()
        denied.approveOwnRequest()
        #expect(denied.decision == .deny)
        var enrolment = ScriptedAnswers(try AnswerOptions.parse([]))
        enrolment.approveEnrolment()
        #expect(enrolment.decision == .approve)
        #expect(ScriptedAnswers(try AnswerOptions.parse(["--approve"])).decision == .approve)
    }

    @Test("Whatever a real phone has and this one has not is called simulated")
    func simulated() {
        for name in AuthenticatorName.allCases {
            #expect(name.isSimulated == name.title.contains("simulated"))
        }
        #expect(AuthenticatorName.allCases.filter(\.isSimulated) == [.fingerprint, .face, .passcode])
    }

    @Test("Every authenticator of the SDK has its name here")
    func names() {
        let kinds: [AuthenticatorDescriptor.Kind] = [
            .pin, .password, .fingerprint, .face, .devicePasscode, .devicePossession,
        ]
        #expect(kinds.map(AuthenticatorName.init) == AuthenticatorName.allCases)
    }
}
