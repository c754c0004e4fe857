import Ceremony
import Foundation
import _Primitives

/// The requests of one step of a process whose answers were lost, each with what it was about. Sent again to the letter, a
/// request is answered as it was before or, where it never arrived, carried out now: either way once.
// Safe to share: every access to `kept`, `count` and `left` is within `lock`.
final class UnansweredRequests<Subject: Sendable>: @unchecked Sendable, CustomStringConvertible, CustomReflectable {
    private struct Entry {
        let number: Int
        let request: ManagerExchange.Proved
        let subject: Subject
    }

    /// How many are kept: of those that are about different things the latest.
    private static var limit: Int { 2 }

    private let lock = NSLock()
    private var kept: [Entry] = []
    private var count = 0
    private var left = 0

    /// What takes note of a request about `subject` before it leaves, and forgets it once it is answered.
    func keeper(of subject: Subject) -> ManagerExchange.Keeper {
        let number = self.lock.withLock {
            self.count += 1
            return self.count
        }
        return { request in
            self.lock.withLock {
                self.kept.removeAll { $0.number == number }
                guard let request else { return }
                self.left += 1
                self.kept.append(Entry(number: number, request: request, subject: subject))
                if self.kept.count > Self.limit { self.kept.removeFirst() }
            }
        }
    }

    /// How many requests have left so far, those that were answered and forgotten among them: whoever finds the same number
    /// later knows that none has left since.
    var begun: Int { self.lock.withLock { self.left } }

    /// Whether there is none.
    var isEmpty: Bool { self.lock.withLock { self.kept.isEmpty } }

    /// Sends again what is kept about something, and returns what the server says to it now. `nil` where nothing is kept about
    /// it, and where it is too old by now to be answered: whoever asks then asks anew.
    ///
    /// Throws ``Refused``, after which it is forgotten where that decides something, and what else `send` throws, after which it
    /// is kept.
    func settle<Answer: Sendable>(
        where isWanted: (Subject) -> Bool,
        _ send: (ManagerExchange.Proved, Subject) async throws -> ManagerExchange.Answered<Answer>?
    ) async throws -> (answer: ManagerExchange.Answered<Answer>, subject: Subject)? {
        guard let entry = self.lock.withLock({ self.kept.first { isWanted($0.subject) } }) else { return nil }
        do {
            let answer = try await send(entry.request, entry.subject)
            self.forget(entry.number)
            return answer.map { (answer: $0, subject: entry.subject) }
        } catch let error as Refused {
            if !error.problem.code.decidesNothing { self.forget(entry.number) }
            throw error
        }
    }

    private func forget(_ number: Int) { self.lock.withLock { self.kept.removeAll { $0.number == number } } }

    /// Forgets all of them: what they were for is over.
    func forget() { self.lock.withLock { self.kept = [] } }

    /// The type alone: what they are about can be a secret.
    var description: String { "UnansweredRequests" }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Which signatures of an activation were the last to leave. Those of before cannot be judged any more where they come after
/// these: their counters are lower, and a server takes a key whose counter goes back for a copy.
// Safe to share: every access to `numbers` is within `lock`.
final class LastSignatures: @unchecked Sendable {
    private let lock = NSLock()
    private var numbers: [ExactText: Int] = [:]

    /// Takes note of signatures that are about to leave, and returns their number.
    func next(of activation: String) -> Int {
        self.lock.withLock {
            let number = self.numbers[ExactText(activation), default: 0] + 1
            self.numbers[ExactText(activation)] = number
            return number
        }
    }

    /// Whether none have left since.
    func isLast(_ number: Int, of activation: String) -> Bool {
        self.lock.withLock { self.numbers[ExactText(activation)] == number }
    }
}
