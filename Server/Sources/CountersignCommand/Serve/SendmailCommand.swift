import Accounts
import Dispatch
import Foundation
import Settings
import Synchronization

/// Hands mail to a command that works like `sendmail -t`: the command reads the message, with the recipient in it, from
/// its standard input. The command's status tells if the command took the message.
///
/// No shell sees any part of the message, and no argument comes from the message. The server keeps the beginning of the
/// command's output, without parts of the message (``MailCommandWords``). The command gets no environment of this
/// process, and no signal that this process ignores.
struct SendmailCommand: MailTransport {
    /// The program and its arguments.
    let command: [String]
    /// The time that the command can take. Afterwards the server kills the command, with every process that the command
    /// has started.
    let time: Duration

    /// Reads the command of an operator's setting: words with spaces between them, of which the first is a path. `nil`
    /// for any other text.
    init?(_ text: String, time: Duration) {
        let words = text.split(separator: " ").map(String.init)
        guard let program = words.first, program.hasPrefix("/") else { return nil }
        self.command = words
        self.time = time
    }

    /// Only one program starts at a time: a pipe becomes this process's own only a moment after its making.
    private static let beginning = Mutex(())

    func send(_ message: [UInt8]) async throws(MailFailure) -> String {
        let result: Result<String, MailFailure> = await withCheckedContinuation { continuation in
            // The function waits for another process, and therefore runs on no thread that serves requests.
            DispatchQueue.global(qos: .utility).async {
                continuation.resume(returning: Result { () throws(MailFailure) in try self.run(message) })
            }
        }
        return try result.get()
    }

    private func run(_ message: [UInt8]) throws(MailFailure) -> String {
        // The whole message is on its way before the command reads. So the server neither waits for a reader, nor
        // writes to a reader that has gone.
        guard message.count <= Limits.Fixed.mailBytes else { throw MailFailure("the message is too long") }
        var ends: [Int32] = [0, 0]
        // The socket is closed for every other program from its first moment. Swift can make no pipe with this
        // property.
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw MailFailure("there is no way to the mail command")
        }
        let isWritten = write(ends[1], message, message.count) == message.count
        close(ends[1])
        defer { close(ends[0]) }
        guard isWritten else { throw MailFailure("the message cannot be handed to the mail command") }
        let (process, output) = try Self.beginning.withLock { _ throws(MailFailure) in try self.start(reading: ends[0])
        }
        var words = CommandOutput(output)
        defer { words.end() }
        let failure = self.end(of: process, &words)
        let said = MailCommandWords(of: message).shown(words.beginning)
        if let failure { throw MailFailure(failure, said: said) }
        return said
    }

    /// Starts the command, and returns the descriptor of the command's output.
    private func start(reading input: Int32) throws(MailFailure) -> (process: pid_t, output: Int32) {
        var output: [Int32] = [0, 0]
        guard pipe(&output) == 0 else { throw MailFailure("there is no way back from the mail command") }
        defer { close(output[1]) }
        for end in output { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(output[0], F_SETFL, O_NONBLOCK)
        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO)
        for stream in [STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_adddup2(&files, output[1], stream)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, every) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&every)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &every)
        // The command gets a process group of its own, so that the server can end the whole group.
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        let arguments: [UnsafeMutablePointer<CChar>?] = self.command.map { strdup($0) } + [nil]
        let environment: [UnsafeMutablePointer<CChar>?] = [strdup("PATH=/usr/sbin:/usr/bin:/sbin:/bin"), nil]
        defer { for text in arguments + environment { free(text) } }
        var process = pid_t()
        let trouble = posix_spawn(&process, self.command[0], &files, &attributes, arguments, environment)
        guard trouble == 0 else {
            close(output[0])
            throw MailFailure("the mail command cannot be started: \(String(cString: strerror(trouble)))")
        }
        return (process, output[0])
    }

    /// Waits for the end of a process and reads the process's output. Returns `nil` if the command has taken the
    /// message, otherwise the reason why not.
    private func end(of process: pid_t, _ words: inout CommandOutput) -> String? {
        let deadline = ContinuousClock.now + self.time
        var status: Int32 = 0
        while true {
            let ended = waitpid(process, &status, WNOHANG)
            if ended == process { break }
            guard ended == 0 || errno == EINTR else { return "the mail command has gone" }
            guard ContinuousClock.now < deadline else {
                kill(-process, SIGKILL)
                while waitpid(process, &status, 0) < 0, errno == EINTR {}
                words.read()
                return "the mail command took longer than \(self.time) and was ended"
            }
            words.read(waiting: 10)
        }
        // Processes that the command has started may go on and keep the output open. The server reads only the output
        // that has already come.
        words.read()
        guard status != 0 else { return nil }
        let signal = status & 0x7F
        return signal == 0
            ? "the mail command ended with status \((status >> 8) & 0xFF)"
            : "the mail command was ended by signal \(signal)"
    }
}

/// The output of a command. The server keeps the output's beginning, and reads all output, so that the command never
/// waits for a reader.
private struct CommandOutput {
    /// The beginning of the output.
    private(set) var beginning: [UInt8] = []
    private let descriptor: Int32
    private var isOpen = true

    /// - Parameter descriptor: The server reads the descriptor without waiting. ``end()`` closes the descriptor.
    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Reads the output that has come.
    ///
    /// - Parameter milliseconds: The time that the function waits for output.
    mutating func read(waiting milliseconds: Int32 = 0) {
        guard self.isOpen else {
            poll(nil, 0, milliseconds)
            return
        }
        var look = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&look, 1, milliseconds) > 0 else { return }
        var piece = [UInt8](repeating: 0, count: 4096)
        // A command that writes without an end must not hold the reader for ever: the command's time goes on.
        for _ in 0..<16 {
            let count = Glibc.read(self.descriptor, &piece, piece.count)
            // 0 is the end of all writers. Otherwise no more output has come.
            if count == 0 { self.isOpen = false }
            guard count > 0 else { return }
            let room = Limits.Fixed.mailCommandWordBytes - self.beginning.count
            self.beginning += piece[..<min(count, room)]
        }
    }

    func end() { close(self.descriptor) }
}
