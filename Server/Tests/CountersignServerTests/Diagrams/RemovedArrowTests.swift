import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Synchronization
import Testing
import UAFClient
import _Primitives

/// A run from which something is taken away that a diagram draws.
struct Removal: Sendable, CustomTestStringConvertible {
    let diagram: String
    /// What happens in its place.
    let story: String
    /// The numbers of the arrows that are recorded all the same.
    let leaves: [Int]
    /// Plays it. Gives the events so far, where something is to be seen before the end.
    let play: @Sendable (RecordedScene) async throws -> [TraceEvent]?

    var testDescription: String { "\(self.diagram): \(self.story)" }

    init(
        _ diagram: String, _ story: String, leaves: [Int],
        _ play: @escaping @Sendable (RecordedScene) async throws -> [TraceEvent]?
    ) {
        self.diagram = diagram
        self.story = story
        self.leaves = leaves
        self.play = play
    }

    static let all = Self.typed + Self.typedAndSaved + Self.saved + Self.browser + Self.kept + Self.webViews

    // MARK: What the stories have in common

    /// An app's way to the server, which can be cut, and looked at while something is on it that it was sent for: the
    /// first request of all brings no password, where there is one.
    private final class Line: Transport {
        private let router: any Transport
        private let cut = Mutex(false)
        private let isForPassword: Bool
        private let look: @Sendable () throws -> Void

        init(_ scene: RecordedScene, isForPassword: Bool = false, look: @escaping @Sendable () throws -> Void = {}) {
            self.router = scene.transport
            self.isForPassword = isForPassword
            self.look = look
        }

        func cut(_ isCut: Bool = true) { self.cut.withLock { $0 = isCut } }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            let isIt = !self.isForPassword || String(decoding: request.body, as: UTF8.self).contains("&password=")
            if isIt {
                try self.look()
                if self.cut.withLock({ $0 }) { throw TransportError(.unreachable, "no network") }
            }
            return try await self.router.send(request)
        }
    }

    private static func typePassword(
        _ scene: RecordedScene, _ password: String = PasswordPlace.password, over line: Line? = nil,
        _ offer: SignIn.BiometricOffer? = nil
    ) async throws {
        let app = try await scene.start(scene.passwords, transport: line)
        try? await app.withPassword(username: "alice", password: password, offeringBiometrics: offer)
    }

    /// What is recorded when the first request is on its way.
    private static func first(
        _ diagram: String, _ scene: RecordedScene, _ act: @Sendable (Line) async throws -> Void
    ) async throws -> [TraceEvent]? {
        let seen = Mutex<[TraceEvent]?>(nil)
        let seed = try SeedDiagram.named(diagram)
        let recorders = scene.recorders
        try await act(
            Line(scene, isForPassword: ["D1", "D2", "D3"].contains(diagram)) {
                let events = try recorders.drawn(seed).events
                seen.withLock { if $0 == nil { $0 = events } }
            })
        return seen.withLock { $0 }
    }

    /// A person who leaves the browser at some step.
    private static func leave(
        _ scene: RecordedScene, _ steps: @escaping @Sendable (RecordedScene.Visit) async throws -> String?
    ) async throws {
        scene.device.browser.onVisit { page, _ in
            scene.recorders.pause()
            let answer = try await steps(scene.visit(page))
            scene.recorders.pause()
            return answer
        }
        let app = try await scene.start()
        try? await app.withBrowser { true }
    }

    /// Name and password were saved, or a session kept, in an earlier process.
    private static func earlier(_ diagram: String, _ scene: RecordedScene) async throws {
        try await DiagramTests.play(diagram, scene)
        try scene.recorders.forget()
    }

    // MARK: D1

    private static let typed: [Removal] = [
        Removal("D1", "nothing is typed", leaves: []) {
            try await Self.typePassword($0, "")
            return nil
        },
        Removal("D1", "the device's storage is full", leaves: [1, 4]) {
            $0.device.installation.set()
            $0.device.storage.refuseWrites(true)
            try await Self.typePassword($0)
            return nil
        },
        Removal("D1", "the network goes", leaves: [1, 2, 4]) {
            let line = Line($0, isForPassword: true)
            line.cut()
            try await Self.typePassword($0, over: line)
            return nil
        },
        Removal("D1", "the server has not answered yet", leaves: [1, 2]) { scene in
            try await Self.first("D1", scene) { try await Self.typePassword(scene, over: $0) }
        },
    ]

    // MARK: D2

    private static let typedAndSaved: [Removal] = [
        Removal("D2", "nothing is typed", leaves: []) {
            try await Self.typePassword($0, "") { true }
            return nil
        },
        Removal("D2", "no finger is enrolled", leaves: [1, 5, 6, 7]) {
            $0.device.sensor.enroll(nil)
            try await Self.typePassword($0) { true }
            return nil
        },
        Removal("D2", "the person says no", leaves: [1, 2, 5, 6, 7]) {
            try await Self.typePassword($0) { false }
            return nil
        },
        Removal("D2", "the choice cannot be kept", leaves: [1, 2, 3, 7]) {
            $0.device.installation.set()
            $0.device.storage.interrupt(afterWrites: 1)
            try await Self.typePassword($0) { true }
            return nil
        },
        Removal("D2", "name and password cannot be saved", leaves: [1, 2, 3, 4, 7]) {
            $0.device.installation.set()
            $0.device.storage.interrupt(afterWrites: 2)
            try await Self.typePassword($0) { true }
            return nil
        },
        Removal("D2", "the network goes", leaves: [1, 2, 3, 4, 5, 7]) {
            let line = Line($0, isForPassword: true)
            line.cut()
            try await Self.typePassword($0, over: line) { true }
            return nil
        },
        Removal("D2", "the server has not answered yet", leaves: [1, 2, 3, 4, 5]) { scene in
            try await Self.first("D2", scene) { try await Self.typePassword(scene, over: $0) { true } }
        },
    ]

    // MARK: D3

    private static func unlock(_ scene: RecordedScene, _ reading: BiometricReading, over line: Line? = nil) async throws
    {
        let app = try await scene.start(scene.passwords, transport: line)
        scene.device.sensor.feel(reading)
        try? await app.withSavedPassword()
    }

    private static let saved: [Removal] = [
        Removal("D3", "the app is opened and does nothing", leaves: []) {
            try await Self.earlier("D2", $0)
            _ = try await $0.start($0.passwords)
            return nil
        },
        Removal("D3", "nothing is saved", leaves: [1, 9]) {
            try await Self.unlock($0, .match)
            return nil
        },
        Removal("D3", "the person gives up", leaves: [1, 2, 3, 9]) {
            try await Self.earlier("D2", $0)
            try await Self.unlock($0, .cancelled)
            return nil
        },
        Removal("D3", "the network goes", leaves: [1, 2, 3, 4, 5, 6, 7, 9]) {
            try await Self.earlier("D2", $0)
            let line = Line($0, isForPassword: true)
            line.cut()
            try await Self.unlock($0, .match, over: line)
            return nil
        },
        Removal("D3", "the server has not answered yet", leaves: [1, 2, 3, 4, 5, 6, 7]) { scene in
            try await Self.earlier("D2", scene)
            return try await Self.first("D3", scene) { try await Self.unlock(scene, .match, over: $0) }
        },
    ]

    // MARK: D4

    private static let browser: [Removal] = [
        Removal("D4", "nobody taps the button", leaves: []) {
            _ = try await $0.start()
            return nil
        },
        Removal("D4", "the device has no browser", leaves: [1, 16]) {
            let app = try await $0.start { $0.webAuthentication = nil }
            try? await app.withBrowser { true }
            return nil
        },
        Removal("D4", "the browser is closed before the page is there", leaves: [1, 2, 16]) {
            try await Self.leave($0) { _ in nil }
            return nil
        },
        Removal("D4", "nobody chooses", leaves: [1, 2, 3, 16]) {
            try await Self.leave($0) {
                _ = try await $0.opens()
                return nil
            }
            return nil
        },
        Removal("D4", "the browser goes no further than to the choice", leaves: [1, 2, 3, 4, 16]) {
            try await Self.leave($0) {
                _ = try await $0.here.get(try await $0.opens())
                return nil
            }
            return nil
        },
        Removal("D4", "the browser does not reach the other provider", leaves: [1, 2, 3, 4, 5, 16]) {
            try await Self.leave($0) {
                _ = try await $0.goesAway(try await $0.opens())
                return nil
            }
            return nil
        },
        Removal("D4", "the person says nothing to the other provider", leaves: [1, 2, 3, 4, 5, 6, 16]) {
            try await Self.leave($0) {
                _ = try await $0.isAsked(try await $0.goesAway(try await $0.opens()))
                return nil
            }
            return nil
        },
        Removal("D4", "the browser does not come back", leaves: [1, 2, 3, 4, 5, 6, 7, 16]) {
            try await Self.leave($0) {
                _ = try await $0.answers(try await $0.isAsked(try await $0.goesAway(try await $0.opens())))
                return nil
            }
            return nil
        },
        Removal("D4", "the browser goes no further than back to the server", leaves: Array(1...8) + [16]) {
            try await Self.leave($0) {
                let page = try await $0.isAsked(try await $0.goesAway(try await $0.opens()))
                _ = try await $0.here.get(try await $0.answers(page))
                return nil
            }
            return nil
        },
        Removal("D4", "the answer is to another sign-in", leaves: Array(1...9) + [16]) {
            try await Self.leave($0) {
                let page = try await $0.isAsked(try await $0.goesAway(try await $0.opens()))
                let answer = try await $0.goesBack(try await $0.answers(page))
                return answer?.replacing("state=", with: "state=x")
            }
            return nil
        },
        Removal("D4", "there is no network", leaves: Array(1...10) + [16]) {
            let line = Line($0)
            line.cut()
            let app = try await $0.start(transport: line)
            try? await app.withBrowser { true }
            return nil
        },
        Removal("D4", "the server has not answered yet", leaves: Array(1...10)) { scene in
            try await Self.first("D4", scene) {
                let app = try await scene.start(transport: $0)
                try? await app.withBrowser { true }
            }
        },
        Removal("D4", "no finger is enrolled", leaves: Array(1...11) + [16]) {
            $0.device.sensor.enroll(nil)
            let app = try await $0.start()
            try await app.withBrowser { true }
            return nil
        },
        Removal("D4", "the person says no", leaves: Array(1...12) + [16]) {
            let app = try await $0.start()
            try await app.withBrowser { false }
            return nil
        },
        Removal("D4", "the token cannot be kept", leaves: Array(1...14) + [16]) {
            let app = try await $0.start()
            $0.device.storage.interrupt(afterWrites: 3)
            try? await app.withBrowser { true }
            return nil
        },
    ]

    // MARK: D5

    private static func restore(_ scene: RecordedScene, _ reading: BiometricReading, over line: Line? = nil)
        async throws
    {
        let app = try await scene.start(transport: line)
        scene.device.sensor.feel(reading)
        try? await app.restore()
    }

    private static let kept: [Removal] = [
        Removal("D5", "the app is opened and does nothing", leaves: []) {
            try await Self.earlier("D4", $0)
            _ = try await $0.start()
            return nil
        },
        Removal("D5", "nothing is kept", leaves: [1, 9]) {
            try await Self.restore($0, .match)
            return nil
        },
        Removal("D5", "the person gives up", leaves: [1, 2, 3, 9]) {
            try await Self.earlier("D4", $0)
            try await Self.restore($0, .cancelled)
            return nil
        },
        Removal("D5", "there is no network", leaves: [1, 2, 3, 4, 5, 6, 7, 9]) {
            try await Self.earlier("D4", $0)
            let line = Line($0)
            line.cut()
            try await Self.restore($0, .match, over: line)
            return nil
        },
        Removal("D5", "the server has not answered yet", leaves: [1, 2, 3, 4, 5, 6, 7]) { scene in
            try await Self.earlier("D4", scene)
            return try await Self.first("D5", scene) { try await Self.restore(scene, .match, over: $0) }
        },
    ]

    // MARK: D6

    private static let webViews: [Removal] = [
        Removal("D6", "nobody signs in", leaves: []) {
            let app = try await $0.start()
            _ = try await app.webView($0.page, displayTitle: "Records", useSSO: true)
            return nil
        },
        Removal("D6", "the app has not asked for a device secret", leaves: [1, 2]) {
            var configuration = $0.configuration
            configuration.scopes = []
            let app = try await $0.start(configuration)
            try await app.withBrowser()
            _ = try await app.webView($0.page, displayTitle: "Records", useSSO: true)
            return nil
        },
        Removal("D6", "the page is opened without the person's session", leaves: [1, 2, 3]) {
            let app = try await $0.start()
            try await app.withBrowser()
            _ = try await app.webView($0.page, displayTitle: "Records")
            #expect($0.pages.answers == [401])
            return nil
        },
        Removal("D6", "the network is gone when the page is opened", leaves: [1, 2, 3, 4]) {
            let line = Line($0)
            let app = try await $0.start(transport: line)
            try await app.withBrowser()
            line.cut()
            _ = try await app.webView($0.page, displayTitle: "Records", useSSO: true)
            return nil
        },
        Removal("D6", "the view takes no cookies", leaves: [1, 2, 3, 4, 5, 6]) {
            let app = try await $0.start()
            try await app.withBrowser()
            $0.device.webViews.refuseCookies(true)
            _ = try await app.webView($0.page, displayTitle: "Records", useSSO: true)
            return nil
        },
        Removal("D6", "the page does not load", leaves: [1, 2, 3, 4, 5, 6, 7]) {
            let app = try await $0.start()
            try await app.withBrowser()
            $0.device.webViews.failLoads(with: TransportError(.unreachable, "no network"))
            _ = try await app.webView($0.page, displayTitle: "Records", useSSO: true)
            return nil
        },
        Removal("D6", "the network is gone when the person signs out", leaves: [1, 2, 3, 14]) {
            let line = Line($0)
            let app = try await $0.start(transport: line)
            try await app.withBrowser()
            line.cut()
            #expect(try await !app.signOut())
            return nil
        },
    ]
}

@Suite("Parity sign-in D1 to D6: an arrow stands for what was done, and goes with it")
struct RemovedArrowTests {
    @Test("what does not happen is not drawn, and what led to it is", arguments: Removal.all)
    func removed(removal: Removal) async throws {
        let recorders = try RunRecorders()
        let diagram = try SeedDiagram.named(removal.diagram)
        let seen = Mutex<[TraceEvent]?>(nil)
        try await RecordedScene.run(recorders) { scene in
            let events = try await removal.play(scene)
            seen.withLock { $0 = events }
        }
        let events = try seen.withLock { $0 } ?? recorders.drawn(diagram).events
        #expect(events.map(\.rawValue) == removal.leaves.map { diagram.arrows[$0 - 1].event })
    }

    @Test("there is such a run for every arrow", arguments: DiagramTests.diagrams)
    func everyArrow(id: String) throws {
        let arrows = try SeedDiagram.named(id).arrows
        let removed = Removal.all.filter { $0.diagram == id }.flatMap { removal in
            arrows.indices.filter { !removal.leaves.contains($0 + 1) }
        }
        #expect(Set(removed) == Set(arrows.indices))
    }
}
