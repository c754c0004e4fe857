import Accounts
import Dispatch
import Foundation
import Store

/// Hands mail to a command that takes what `sendmail -t` takes: the message on its standard input, with the recipient in
/// it. Its status says whether it was taken.
///
/// No shell sees anything of it, and no argument is of the message. What the command writes is not read: it may have parts
/// of the message, with what opens somebody's account. The command gets no environment of this process, and no signal that is
/// ignored here.
struct SendmailCommand: MailTransport {
    /// The program and its arguments.
    let command: [String]
    /// How long it can take. Past it it is killed, with what it has started.
    let time: Duration

    /// The command of an operator's setting: words with spaces between them, the first of which is a path. `nil` where it is
    /// none.
    init?(_ text: String, time: Duration) {
        let words = text.split(separator: " ").map(String.init)
        guard let program = words.first, program.hasPrefix("/") else { return nil }
        self.command = words
        self.time = time
    }

    func send(_ message: [UInt8]) async throws(MailFailure) {
        let failure: MailFailure? = await withCheckedContinuation { continuation in
            // It waits for another process: on no thread that serves requests.
            DispatchQueue.global(qos: .utility).async { continuation.resume(returning: self.run(message)) }
        }
        if let failure { throw failure }
    }

    private func run(_ message: [UInt8]) -> MailFailure? {
        // All of it is on its way before there is somebody who reads it: nobody waits for a reader, nor writes to one that
        // is gone.
        guard message.count <= Limits.Fixed.mailBytes else { return MailFailure("the message is too long") }
        var ends: [Int32] = [0, 0]
        // Closed for every other program from its first moment, as no pipe is that Swift can make.
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            return MailFailure("there is no way to the mail command")
        }
        let isWritten = write(ends[1], message, message.count) == message.count
        close(ends[1])
        defer { close(ends[0]) }
        guard isWritten else { return MailFailure("the message cannot be handed to the mail command") }
        guard let process = self.start(reading: ends[0]) else {
            return MailFailure("the mail command cannot be started")
        }
        return self.end(of: process)
    }

    private func start(reading input: Int32) -> pid_t? {
        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO)
        for output in [STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&files, output, "/dev/null", O_WRONLY, 0)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, every) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&every)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &every)
        // A group of its own, so that all of it can be ended.
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        let arguments: [UnsafeMutablePointer<CChar>?] = self.command.map { strdup($0) } + [nil]
        let environment: [UnsafeMutablePointer<CChar>?] = [strdup("PATH=/usr/sbin:/usr/bin:/sbin:/bin"), nil]
        defer { for text in arguments + environment { free(text) } }
        var process = pid_t()
        guard posix_spawn(&process, self.command[0], &files, &attributes, arguments, environment) == 0 else {
            return nil
        }
        return process
    }

    /// Waits for the end of a process; `nil` where it has taken the message.
    private func end(of process: pid_t) -> MailFailure? {
        let deadline = ContinuousClock.now + self.time
        var status: Int32 = 0
        while true {
            let ended = waitpid(process, &status, WNOHANG)
            if ended == process { break }
            guard ended == 0 || errno == EINTR else { return MailFailure("the mail command has gone") }
            guard ContinuousClock.now < deadline else {
                kill(-process, SIGKILL)
                while waitpid(process, &status, 0) < 0, errno == EINTR {}
                return MailFailure("the mail command took longer than \(self.time) and was ended")
            }
            poll(nil, 0, 10)
        }
        guard status != 0 else { return nil }
        let signal = status & 0x7F
        return MailFailure(
            signal == 0
                ? "the mail command ended with status \((status >> 8) & 0xFF)"
                : "the mail command was ended by signal \(signal)")
    }
}
