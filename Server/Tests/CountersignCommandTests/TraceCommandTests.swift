import ArgumentParser
import Ceremony
import Foundation
import Testing
import _Primitives

@testable import CountersignCommand

@Suite("countersign trace draw (founding decision, Recorded flows)")
struct TraceCommandTests {
    /// A file of two traces with an event each, for the time of a test.
    private final class Recorded {
        let path = FileManager.default.temporaryDirectory.path + "/trace-draw-\(RandomSource.system.token())"
        let traces = [TraceID(), TraceID()]

        init() throws {
            let recorder = try TraceRecorder(path: self.path)
            recorder.record(.signedIn, in: TraceContext(trace: self.traces[0]))
            recorder.record(.signInWanted, in: TraceContext(trace: self.traces[1]))
        }

        deinit { try? FileManager.default.removeItem(atPath: self.path) }
    }

    private func arrows(_ arguments: [String]) throws -> [String] {
        try TraceCommand.Draw.parse(arguments).diagram().split(separator: "\n").filter { $0.contains("->>") }
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test("everything is drawn in its order, or one trace alone")
    func draws() throws {
        let recorded = try Recorded()
        let (path, traces) = (recorded.path, recorded.traces.map(\.text))
        let (signedIn, wanted) = ("relyingParty->>browser: signed in", "browser->>relyingParty: sign in with my phone")
        #expect(try self.arrows([path]) == [signedIn, wanted])
        #expect(try self.arrows([path, "--trace", traces[1]]) == [wanted])
        #expect(try self.arrows([path, "--trace", traces[1], "--trace", traces[0]]) == [signedIn, wanted])
        #expect(try self.arrows([path, "--only", "sign-in-wanted"]) == [wanted])
        #expect(try self.arrows([path, "--only", "signed-in", "--only", "sign-in-wanted"]) == [signedIn, wanted])
        #expect(try self.arrows([path, "--only", "password-sent"]).isEmpty)
    }

    @Test("a trace that is none, one without an event, and a file that is not there have exit codes of their own")
    func refuses() throws {
        let recorded = try Recorded()
        let path = recorded.path
        let refusals: [([String], CommandFailure.Status)] = [
            ([path, "--trace", "0AF7651916cd43dd8448eb211c80319c"], .usage),
            ([path, "--trace", TraceID().text], .notFound), ([path + "-none"], .notFound), ([path, path], .failed),
            ([path, "--label", "nobody=x"], .usage), ([path, "--only", "nothing"], .usage),
        ]
        for (arguments, status) in refusals {
            let failure = #expect(throws: CommandFailure.self) { try self.arrows(arguments) }
            #expect(failure?.status == status, "\(arguments)")
        }
    }
}
