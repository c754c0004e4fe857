import ArgumentParser
import Passwords
import _Primitives

/// `countersign hash`: the cost of passwords on this machine, and the list of passwords that nobody may choose.
struct HashCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hash",
        abstract: "What hashing passwords costs on this machine, and lists of breached passwords.",
        subcommands: [Calibrate.self, Breached.self]
    )

    /// `countersign hash calibrate`: finds the memory with which a hash takes the wanted time.
    struct Calibrate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "calibrate",
            abstract: "Measure Argon2id on this machine and propose settings.",
            discussion: """
                Run it on the machine that serves people, when it does little else. The proposal is never below the \
                default (19 MiB, two passes), and never above what stored hashes may cost. Each hashing thread takes the \
                memory of a hash while it works.

                  countersign hash calibrate --milliseconds 50
                """)

        @Option(name: .long, help: "How long a hash is to take.")
        var milliseconds = 50

        @Option(name: .long, help: "Passes over the memory.")
        var passes = 2

        @Flag(name: .long, help: "Print one JSON object instead of text.")
        var json = false

        func validate() throws {
            guard (1...10_000).contains(self.milliseconds) else {
                throw ValidationError("--milliseconds takes 1 to 10000.")
            }
            guard (1...16).contains(self.passes) else { throw ValidationError("--passes takes 1 to 16.") }
        }

        func run() async throws {
            let usual = PasswordLimits()
            var parameters = usual.hashing
            parameters.passes = self.passes
            let most = min(usual.storedMemoryKiB, usual.storedWorkKiB / self.passes)
            var taken = try await Self.time(of: parameters)
            // Time grows with memory: a few steps come close enough.
            for _ in 0..<4 {
                let scaled = Double(parameters.memoryKiB) * Double(self.milliseconds) / max(taken, 0.1)
                let next = min(most, max(usual.hashing.memoryKiB, Int(scaled)))
                guard next != parameters.memoryKiB else { break }
                parameters.memoryKiB = next
                taken = try await Self.time(of: parameters)
            }
            let settings = "hashingMemoryKiB=\(parameters.memoryKiB),hashingPasses=\(parameters.passes)"
            guard !self.json else {
                Terminal.standardOutput(
                    json: .object([
                        "hashingMemoryKiB": .integer(Int64(parameters.memoryKiB)),
                        "hashingPasses": .integer(Int64(parameters.passes)),
                        "milliseconds": .integer(Int64(taken.rounded(.up))),
                    ]))
                return
            }
            Terminal.standardOutput(
                """
                A hash of \(parameters.memoryKiB) KiB and \(parameters.passes) passes takes \(Int(taken.rounded(.up))) ms here.
                countersign serve --limits \(settings)
                """)
        }

        /// Returns the milliseconds of the quickest of three hashes.
        private static func time(of parameters: Argon2Parameters) async throws -> Double {
            var limits = PasswordLimits()
            limits.hashing = parameters
            limits.hashingThreads = 1
            limits.niceness = 0
            let pool = try HashingPool(limits: limits, random: .system)
            let password = try Password(typed: "a password to measure by")
            var quickest = Double.infinity
            for _ in 0..<3 {
                let start = ContinuousClock.now
                _ = try await pool.hash(password)
                let (seconds, attoseconds) = (ContinuousClock.now - start).components
                quickest = min(quickest, Double(seconds) * 1000 + Double(attoseconds) / 1e15)
            }
            await pool.shutDown()
            return quickest
        }
    }

    /// `countersign hash breached`: makes the file that `serve --breached-passwords` takes.
    struct Breached: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "breached",
            abstract: "Make a list of breached passwords of the text that Have I Been Pwned gives.",
            discussion: """
                The text has a SHA-1, a colon and a count in each line, in ascending order. A server that runs goes on \
                with the list that it has opened; the next start takes the new one.

                  countersign hash breached pwned-passwords.txt breached.list --fewest 10
                  countersign serve --breached-passwords breached.list
                """)

        @Argument(help: "The text.")
        var text: String

        @Argument(help: "The list to make, or to replace.")
        var list: String

        @Option(name: .long, help: "Leave out what was met less often.")
        var fewest = 1

        func run() throws {
            do {
                let count = try BreachedPasswordListBuilder.build(from: self.text, to: self.list, fewest: self.fewest)
                Terminal.standardOutput("\(count) passwords in \(self.list)")
            } catch let error as BreachedListError {
                throw CommandFailure(
                    error.code == .unreadable ? .notFound : .failed,
                    "no list can be made of \(self.text): \(error.reason)")
            }
        }
    }
}
