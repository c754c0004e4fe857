import Foundation
import ServerClients

/// Kills the server at random points of sign-ins, most of them between a request's first byte and its answer. Then
/// looks for two faults: something acknowledged is missing, or something works twice.
///
/// Arguments: SERVER-PROGRAM PHONE-PROGRAM REPORT [POINTS [SEED]]
@main
struct CrashTest {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 4 else {
            throw LoadError("usage: CrashTest SERVER-PROGRAM PHONE-PROGRAM REPORT [POINTS [SEED]]")
        }
        let points = arguments.count > 4 ? Int(arguments[4]) ?? 200 : 200
        let seed = arguments.count > 5 ? UInt64(arguments[5]) ?? 1 : UInt64.random(in: 1...999_999)
        print("crash test: \(points) points, seed \(seed)")

        let folder = "/var/tmp/countersign-crash-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let process = try ServerProcess(program: arguments[1], folder: folder)
        defer { process.killAtOnce() }
        try process.start()

        let hazard = Hazard(process: process, seed: seed)
        let journeys = try Journeys(server: Server(process), hazard: hazard)
        var findings = Findings<Rule>()
        var rounds = 0
        while hazard.points < points || hazard.inFlight < points * 3 / 4 {
            rounds += 1
            guard rounds < points * 4 else { throw LoadError("too few points hit a request: \(hazard.summary)") }
            try journeys.runOne(&findings)
            if rounds % 20 == 0 { print("  \(hazard.summary)") }
        }
        try journeys.checkCounters(&findings)
        try PhoneAttempts(
            program: arguments[2], folder: folder, server: Server(process), relyingParty: journeys.relyingParty,
            hazard: hazard
        ).run(&findings)
        try PhoneCounters(program: arguments[2], folder: folder, hazard: hazard).run(&findings)

        let stalled = folder + "/stalled"
        try FileManager.default.createDirectory(atPath: stalled, withIntermediateDirectories: true)
        try StalledPeers(program: arguments[1], folder: stalled).run(&findings)

        print("  \(hazard.summary)")
        print("  \(findings.summary)")
        try findings.writeReport(of: "CrashTest", to: arguments[3])
        for text in findings.texts { print("  " + text) }
        if !findings.texts.isEmpty {
            print("crash test failed: the server's folder is \(folder)")
            // The process ends without running deferred code.
            process.killAtOnce()
            exit(1)
        }
        try? FileManager.default.removeItem(atPath: folder)
        print(
            "crash test passed: \(hazard.points) kills, \(hazard.inFlight) within a request, nothing lost, nothing twice"
        )
    }
}
