import Crypto
import Foundation
import ServerClients
import _Primitives

/// Measures the server's time for complete answers to right factors and to wrong factors. Wrong factors have several
/// kinds: 500 answers of each kind, one after the other, the kinds in turns.
///
/// A wrong answer costs its phone a waiting time, and a right answer ends the row of wrong answers. So many phones take
/// part. Each phone answers rightly and then wrongly at its turn, and no waiting time is longer than the first.
struct AnswerTimes {
    private static let people = 250
    /// Each phone is wrong twice in each of three ways.
    private static let rounds = 6
    private static let wrong: [SentFactors] = [.wrongPin, .otherFinger, .otherDevice]
    /// The waiting time of a phone after one wrong answer, with a small margin.
    private static let rest: Duration = .milliseconds(5100)

    private static let profile: JSONObject = [
        "roles": .array([
            .object([
                "id": .string("resident"), "name": .string("Resident"), "default": .bool(true),
                "factors": .array([
                    .array([.string("pin"), .string("device")]), .array([.string("biometric"), .string("device")]),
                ]),
            ])
        ])
    ]

    /// The durations of many answers of one kind, in microseconds.
    struct Sample {
        fileprivate var times: [Double] = []

        private var sorted: [Double] { self.times.sorted() }
        var median: Double { self.sorted[self.times.count / 2] }
        /// The distance from the first quarter to the third.
        var spread: Double { self.sorted[self.times.count * 3 / 4] - self.sorted[self.times.count / 4] }
        /// The half-width of the median's 95 % confidence interval.
        var doubt: Double {
            let sorted = self.sorted
            let ranks = Int(0.98 * Double(sorted.count).squareRoot())
            return (sorted[sorted.count / 2 + ranks] - sorted[sorted.count / 2 - ranks]) / 2
        }
    }

    /// One measure of all the answers.
    struct Measure {
        fileprivate(set) var right = Sample()
        fileprivate(set) var wrong: [Sample] = AnswerTimes.wrong.map { _ in Sample() }

        /// The largest distance between the medians of wrong answers.
        var distance: Double {
            let medians = self.wrong.map(\.median)
            return (medians.max() ?? 0) - (medians.min() ?? 0)
        }
        /// The smallest spread among the kinds of wrong answers.
        var spread: Double { self.wrong.map(\.spread).min() ?? 0 }
        var doubt: Double { self.wrong.map(\.doubt).max() ?? 0 }
        /// The distance between the median of right answers and the farthest median of wrong answers.
        var distanceOfRight: Double { self.wrong.map { abs($0.median - self.right.median) }.max() ?? 0 }
        var hidesWhatIsWrong: Bool { self.distance < self.spread }
    }

    /// The time from the first byte of the request to the last byte of its answer, by the clock.
    private(set) var roundTrip = Measure()
    /// The server's processor time during the same interval.
    private(set) var server = Measure()
    /// The round trip plus the time of a verifier that stops at the first wrong factor. The server's own verifier looks
    /// at all factors in every case. So this measure differs between kinds as the measure of a server would that stops
    /// early.
    private(set) var stopping = Measure()

    /// The times of one answer, in microseconds.
    private struct Taken {
        var roundTrip: Double
        var server: Double
        /// The time of a verifier that stops at the first wrong factor.
        var stopping: Double
    }

    /// The measured server, and the measuring tools.
    private struct Scene {
        let server: Server
        let party: RelyingParty
        let identities: IdentityServer
        let processor: ProcessorClock
        let own: ProcessorClock
        let clock = ContinuousClock()
        let signed = RandomSource.system.bytes(180)
        let key: P256.Signing.PublicKey
        let signature: P256.Signing.ECDSASignature

        init(_ process: ServerProcess) throws {
            self.server = Server(process)
            self.party = try RelyingParty(server: self.server)
            try self.server.setService(self.party.identifier, to: AnswerTimes.profile)
            self.identities = try IdentityServer(self.server)
            self.processor = try ProcessorClock(of: process.identifier)
            self.own = try ProcessorClock(of: getpid())
            let key = P256.Signing.PrivateKey()
            self.key = key.publicKey
            self.signature = try key.signature(for: self.signed)
        }

        func answer(
            _ sent: SentFactors, _ phone: inout SoftwareIdentity, browser: inout HTTPConnection,
            connection: inout HTTPConnection
        ) throws -> Taken {
            let code = try self.identities.code(try self.party.identityCode(on: &browser))
            let call = try phone.factors(
                sent, for: code, by: try PreparedFactors(to: self.identities), on: &connection)
            let (start, busy) = (self.clock.now, self.processor.microseconds)
            let isAccepted = try phone.send(call, on: &connection)
            let (end, busyAfter) = (self.clock.now, self.processor.microseconds)
            guard isAccepted == (sent == .right) else { throw LoadError("\(sent) was judged wrongly") }
            let before = self.own.microseconds
            // The device's signature comes first.
            for _ in 0..<(sent == .otherDevice ? 1 : 2) {
                guard self.key.isValidSignature(self.signature, for: self.signed) else {
                    throw LoadError("a right signature is refused")
                }
            }
            return Taken(
                roundTrip: seconds(of: start.duration(to: end)) * 1e6, server: busyAfter - busy,
                stopping: self.own.microseconds - before)
        }
    }

    /// Measures with a separate server, in an existing folder.
    init(program: String, folder: String) throws {
        let process = try ServerProcess(program: program, folder: folder)
        try process.start()
        defer { process.stop() }
        let scene = try Scene(process)
        var phones = try Self.phones(at: scene.identities, of: scene.server)
        var browser = try scene.server.connect()
        var connection = try scene.server.connect()
        var wrongAt = [ContinuousClock.Instant?](repeating: nil, count: phones.count)
        for round in 0..<Self.rounds {
            for index in phones.indices {
                // This waits at most at the beginning of a round: the other phones have waited meanwhile.
                while let last = wrongAt[index], last.duration(to: scene.clock.now) < Self.rest { usleep(10_000) }
                for sent in [SentFactors.right, Self.wrong[(index + round) % Self.wrong.count]] {
                    let taken = try scene.answer(
                        sent, &phones[index], browser: &browser, connection: &connection)
                    self.roundTrip.note(taken.roundTrip, of: sent)
                    self.server.note(taken.server, of: sent)
                    self.stopping.note(taken.roundTrip + taken.stopping, of: sent)
                }
                wrongAt[index] = scene.clock.now
            }
        }
    }

    private static func phones(at identities: IdentityServer, of server: Server) throws -> [SoftwareIdentity] {
        let phones = Shared<[SoftwareIdentity]>([])
        let makers = 2
        try onThreads(makers) { maker in
            var administration = try server.connectOperator()
            var connection = try server.connect()
            for number in stride(from: maker, to: Self.people, by: makers) {
                let phone = try SoftwareIdentity(
                    "person-\(number)", hasFinger: true, at: identities, of: server, operator: &administration,
                    phone: &connection)
                phones.withLock { $0.append(phone) }
            }
        }
        return phones.withLock { $0 }
    }

    /// Adds the rows of the table.
    func add(to report: inout Report) {
        func medians(_ measure: Measure) -> String {
            measure.wrong.map { String(format: "%.0f", $0.median) }.joined(separator: ", ")
        }
        for (what, measure) in [("round trip", self.roundTrip), ("processor time of the server", self.server)] {
            report.add(
                "whole answers to 500 with a wrong PIN, another finger, another device each: medians of the \(what)",
                String(format: "%@ µs; %.0f µs apart", medians(measure), measure.distance),
                String(format: "< their spread between the quartiles, %.0f µs", measure.spread))
            // An accepted answer says so, and is written in more rows. Its time reveals nothing more, and has no goal.
            report.add(
                "the same of right ones between them",
                String(
                    format: "%.0f µs; %.0f µs from the farthest", measure.right.median, measure.distanceOfRight),
                String(format: "told only; spread %.0f µs", min(measure.spread, measure.right.spread)))
        }
        report.note(
            String(
                format: "Whole answers: each of these medians of round trips is sure to %.0f µs in either direction; "
                    + "with a verifier that ends at the first wrong factor they would be %.0f apart and not %.0f",
                self.roundTrip.doubt, self.stopping.distance, self.roundTrip.distance))
    }

    /// Throws if the times reveal which factor is wrong.
    func check() throws {
        guard self.roundTrip.hidesWhatIsWrong, self.server.hidesWhatIsWrong else {
            throw LoadError("what is wrong with factors can be told by the time of the answer")
        }
    }
}

extension AnswerTimes.Measure {
    fileprivate mutating func note(_ microseconds: Double, of sent: SentFactors) {
        switch sent {
        case .right: self.right.times.append(microseconds)
        case .wrongPin: self.wrong[0].times.append(microseconds)
        case .otherFinger: self.wrong[1].times.append(microseconds)
        case .otherDevice: self.wrong[2].times.append(microseconds)
        }
    }
}
