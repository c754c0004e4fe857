import Accounts
import Foundation
import Records
import SQLStore
import SQLiteStore
import Sealing
import Settings
import Testing
import _Primitives

@testable import CountersignCommand

@Suite("Mail goes to a command that takes what sendmail takes (decision 44)")
struct SendmailCommandTests {
    /// Reads a message with Python's own parser and keeps what is in it.
    private static let catcher = """
        import email, email.policy, json, os, sys
        message = email.message_from_binary_file(sys.stdin.buffer, policy=email.policy.default)
        found = {name: [str(value) for value in message.get_all(name)] for name in message.keys()}
        found["arguments"] = sys.argv[2:]
        found["body"] = message.get_content()
        found["defects"] = [str(defect) for defect in message.defects]
        found["addresses"] = [[a.addr_spec for a in message[name].addresses] for name in ("From", "To")]
        found["environment"] = sorted(name for name in os.environ if name not in ("PATH", "LC_CTYPE"))
        json.dump(found, open(sys.argv[1], "w"))
        """

    private final class Folder: Sendable {
        let path = FileManager.default.temporaryDirectory.path + "/mail-\(UUID().uuidString)"

        init() throws { try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: self.path) }

        func write(_ name: String, _ text: String) throws -> String {
            try text.write(toFile: self.path + "/" + name, atomically: true, encoding: .utf8)
            return self.path + "/" + name
        }

        func object(_ name: String) throws -> JSONObject {
            let bytes = try #require(FileManager.default.contents(atPath: self.path + "/" + name))
            guard case .object(let object) = try JSON(parsing: Array(bytes)) else { return [:] }
            return object
        }
    }

    private static func command(_ text: String, time: Duration = .seconds(30)) throws -> SendmailCommand {
        try #require(SendmailCommand(text, time: time))
    }

    @Test("a message that people get is one that another parser reads, with our words, links and addresses in it")
    func aMessageIsReadByAnotherParser() async throws {
        let folder = try Folder()
        let script = try folder.write("catch.py", Self.catcher)
        let store = try SQLStore(folder: folder.path + "/data", key: KeyEncryptionKey())
        let (sealing, moment) = (Sealing(KeyEncryptionKey()), Timestamp(seconds: 1_800_000_000))
        let directory = AccountDirectory(
            store: store, time: TimeSource { moment }, endOfSessions: { _ in { _ in nil } })
        let passwords = try PasswordAccounts(
            store: store, sealing: sealing, sendsMail: true, time: TimeSource { moment })
        let account = try await directory.create(
            username: "zoë.example", displayName: nil,
            email: AccountEmail(address: "-oq/tmp@post.example", isVerified: true), by: "test")
        try await PasswordDirectory(passwords).importHash(
            "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", username: "zoë.example", by: "test")
        let username = try #require(account.username).text
        try await PasswordResets(passwords).ask(username: username, source: "here")
        #expect(try await PasswordResets(passwords).sendLinks().isEmpty)
        let name = "Bürgerdienst der Stadt\r\nBcc: everybody@post.example, mit einem langen Namen\n\n."
        let deliveries = MailDeliveries(
            store: store, transport: try Self.command("/usr/bin/python3 \(script) \(folder.path)/caught -t -i"),
            letterhead: MailDeliveries.Letterhead(
                issuer: "https://sign-in.example", serviceName: name,
                sender: try #require(MailSender("no-reply@sign-in.example"))), sealing: sealing,
            time: TimeSource { moment })
        let outbox = Outbox(deliveries.entry, store: store, time: TimeSource { moment })
        for letter in try await outbox.takeDue() { #expect(try await outbox.deliver(letter) == .delivered) }
        let caught = try folder.object("caught")
        #expect(try caught.strings("arguments") == ["-t", "-i"])
        #expect(try caught.strings("defects") == [])
        #expect(
            caught["addresses"]
                == .array([
                    .array([.string("no-reply@sign-in.example")]), .array([.string("-oq/tmp@post.example")]),
                ]))
        for name in ["From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Auto-Submitted"] {
            #expect(try caught.strings(name)?.count == 1, "\(name)")
        }
        #expect(caught["Bcc"] == nil)
        #expect(try caught.strings("Date") == ["Fri, 15 Jan 2027 08:00:00 +0000"])
        #expect(try caught.strings("Subject")?.first?.contains("Bürgerdienst der Stadt") == true)
        let body = try caught.requiredString("body")
        #expect(body.contains("zoë.example"))
        let link = try #require(body.split(separator: "\n").first { $0.hasPrefix("https://") })
        #expect(link.hasPrefix("https://sign-in.example/account/reset?link="))
        let secret = String(link.dropFirst("https://sign-in.example/account/reset?link=".count))
        #expect(try await PasswordResets(passwords).visit(link: secret)?.username == "zoë.example")
        // Nothing of this process is there: its settings may be secrets.
        #expect(try caught.strings("environment") == [])
        await store.close()
    }

    @Test("no shell sees a word of the setting")
    func noShell() async throws {
        let folder = try Folder()
        let script = try folder.write(
            "arguments.py", "import json,sys\njson.dump({'a': sys.argv[2:]}, open(sys.argv[1],'w'))")
        _ = try await Self.command("/usr/bin/python3 \(script) \(folder.path)/out $(id) ;true `id` *").send([])
        #expect(try folder.object("out").strings("a") == ["$(id)", ";true", "`id`", "*"])
    }

    @Test("a status other than 0 and a signal are failures, as is a program that is not there")
    func failures() async throws {
        for (command, words) in [
            ("/bin/false", "status 1"),
            ("/usr/bin/python3 -c __import__(\"os\").kill(__import__(\"os\").getpid(),9)", "signal 9"),
            ("/usr/sbin/no-such-sendmail -t", "cannot be started"),
        ] {
            let error = await #expect(throws: MailFailure.self) {
                _ = try await Self.command(command).send(Array("x".utf8))
            }
            #expect(error?.reason.contains(words) == true, "\(command)")
        }
        _ = try await Self.command("/bin/true").send(Array("x".utf8))
    }

    @Test("a command that takes too long is ended, with what it has started")
    func aSlowCommandIsEnded() async throws {
        let folder = try Folder()
        let script = try folder.write(
            "slow.py",
            """
            import subprocess, sys
            end = open(sys.argv[1], "w")
            subprocess.Popen(["/bin/sleep", "1000"], stdout=end).wait()
            """)
        // Open at its other end for as long as one of the two lives.
        let pipe = "\(folder.path)/end"
        try #require(mkfifo(pipe, 0o600) == 0)
        let end = open(pipe, O_RDONLY | O_NONBLOCK)
        try #require(end >= 0)
        defer { close(end) }
        let command = try Self.command("/usr/bin/python3 \(script) \(pipe)", time: .seconds(5))
        let error = await #expect(throws: MailFailure.self) { try await command.send([]) }
        #expect(error?.reason.contains("took longer") == true)
        var closed = pollfd(fd: end, events: 0, revents: 0)
        #expect(poll(&closed, 1, 30_000) == 1 && Int32(closed.revents) & Int32(POLLHUP) != 0)
    }

    @Test(
        "what a command says is told, of both streams, whether it takes the letter or not; the rest is read and dropped"
    )
    func said() async throws {
        let folder = try Folder()
        let script = try folder.write(
            "say.py",
            """
            import os, sys
            os.write(1, b"queued as 4F2\\n")
            os.write(2, b"mail_queue_enter: Permission denied\\n")
            for _ in range(int(sys.argv[2])): os.write(2, b"x" * 4096)
            sys.exit(int(sys.argv[1]))
            """)
        let command = "/usr/bin/python3 \(script)"
        let letter = Array("To: <alice@post.example>\n\n".utf8)
        #expect(
            try await Self.command("\(command) 0 0").send(letter)
                == "queued as 4F2; mail_queue_enter: Permission denied")
        let error = await #expect(throws: MailFailure.self) { try await Self.command("\(command) 75 0").send(letter) }
        #expect(error?.said == "queued as 4F2; mail_queue_enter: Permission denied")
        #expect(error?.reason.contains("status 75") == true)
        // More than a pipe holds: it waits for no reader.
        let much = try await Self.command("\(command) 0 500").send(letter)
        #expect(much.utf8.count <= Limits.Fixed.mailCommandWordBytes + 8 && much.hasPrefix("queued as 4F2"))
    }

    @Test("what a command says is told also where it takes too long, or goes on in the background")
    func saidWithoutAnEnd() async throws {
        let folder = try Folder()
        let slow = try folder.write(
            "slow.py", "import os,time\nos.write(2, b'create file maildrop/1: Read-only file system')\ntime.sleep(1000)"
        )
        let command = try Self.command("/usr/bin/python3 \(slow)", time: .seconds(5))
        let error = await #expect(throws: MailFailure.self) { try await command.send([]) }
        #expect(error?.reason.contains("took longer") == true)
        #expect(error?.said == "create file maildrop/1: Read-only file system")
        let parent = try folder.write(
            "parent.py", "import os,subprocess\nsubprocess.Popen(['/bin/sleep','1000'])\nos.write(2, b'taken')")
        #expect(try await Self.command("/usr/bin/python3 \(parent)").send([]) == "taken")
    }

    @Test("nothing of the letter is told, however the command repeats it")
    func nothingOfTheLetter() async throws {
        let folder = try Folder()
        let echo = try folder.write(
            "echo.py",
            """
            import base64, sys
            raw = sys.stdin.read()
            head, _, body = raw.partition("\\n\\n")
            text = base64.b64decode(body).decode()
            for said in (raw, text, text.upper(), "<ALICE.Example@post.example> unknown, user alice.example",
                         "link " + text.split("link=")[1].split()[0][:20], " ".join(text.split()[:9])):
                sys.stderr.write(said[:int(sys.argv[1])] + "\\n")
            sys.stderr.write("relay refused sign-in@sign-in.example")
            sys.exit(1)
            """)
        let body =
            "Hello Jo, the name jo at Countersign:\nhttps://id.example/account/reset?link=Zm9vYmFyYmF6cXV4MTIzNDU2\n"
        let letter = """
            From: =?utf-8?B?QQ==?=
             =?utf-8?B?Qg==?= <sign-in@sign-in.example>
            To: <alice.example@post.example>
            Subject: =?utf-8?B?QSBuZXcgcGFzc3dvcmQ=?=

            \(Data(body.utf8).base64EncodedString())

            """
        for most in [40, 400] {
            let error = await #expect(throws: MailFailure.self) {
                _ = try await Self.command("/usr/bin/python3 \(echo) \(most)").send(Array(letter.utf8))
            }
            let said = error?.said.lowercased() ?? ""
            for secret in [
                "alice", "post.example", "zm9vymfy", "the name jo", "hello jo", "?utf-8?b?qsbuzxc", "sgvsbg8g",
            ] {
                #expect(!said.contains(secret), "\(secret) in \(said)")
            }
            #expect(said.contains("[letter]"))
            if most == 40 { #expect(said.hasSuffix("relay refused sign-in@sign-in.example"), "\(said)") }
        }
    }

    @Test("a short name before the @ is left out as a word, and stays within another word")
    func shortNames() {
        let words = MailCommandWords(of: Array("From: <a@b.example>\nTo: <jo@c.example>\n\n".utf8))
        #expect(
            words.shown(Array("550 <JO@c.example>: user jo unknown, (jo), no joke\r\n\n\tmajor\n".utf8))
                == "550 [letter] user [letter] unknown, [letter] no joke; major")
        #expect(words.shown(Array("from a@b.example".utf8)) == "from a@b.example")
        #expect(words.shown([]) == "" && words.shown([0x0A, 0x20]) == "")
        // What is no text is shown as what cannot be read.
        #expect(words.shown([0x61, 0xFF]) == "a\u{FFFD}")
    }

    @Test("a message that is too long is not begun")
    func aLongMessage() async throws {
        await #expect(throws: MailFailure.self) {
            _ = try await Self.command("/bin/true").send([UInt8](repeating: 0x20, count: Limits.Fixed.mailBytes + 1))
        }
    }

    @Test("a command is a path, and a sender an address", arguments: ["", "sendmail -t", "./sendmail"])
    func settings(text: String) {
        #expect(SendmailCommand(text, time: .seconds(1)) == nil)
        #expect(MailSender(text) == nil)
        #expect(MailSender("a@b.example\r\nBcc: c@d.example") == nil)
    }
}
