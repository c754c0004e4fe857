import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Endpoints
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import Settings
import Synchronization
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Channels for events: each source has its share (threat model, Floods; HTML, section 9.2)")
struct EventChannelsTests {
    /// Waits until the server's numbers have a line.
    private static func wait(for line: String, _ server: ServerFixture) async {
        while !server.assembly.channels.metrics.contains("\n\(line)\n") { await Task.yield() }
    }

    @Test(
        "Past its share a source loses its oldest channel, and its newest ones hear how it goes on",
        .timeLimit(.minutes(10)))
    func share() async throws {
        var limits = Limits()
        limits.channelsPerSource = 2
        let server = try await ServerFixture(limits: limits)
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let browser = TestBrowser(client)
            let (request, page) = try await server.signInPage(browser, try await server.relyingParty())
            let address = "/sign-in/wait/events?request=\(request)"
            async let first = browser.get(address)
            await Self.wait(for: "countersign_channels_open 1", server)
            async let second = browser.get(address)
            await Self.wait(for: "countersign_channels_open 2", server)
            async let third = browser.get(address)
            #expect(try await first.text.hasSuffix("event: state\ndata: {\"state\":\"waiting\"}\n\n"))
            await Self.wait(for: "countersign_channels_lost_total 1", server)
            _ = try await phone.authenticate(try server.typedPayload(page))
            for channel in [try await second, try await third] {
                #expect(channel.text.hasSuffix("event: state\ndata: {\"state\":\"approved\"}\n\n"))
            }
            await Self.wait(for: "countersign_channels_open 0", server)
        }
        #expect(server.assembly.channels.metrics.contains("\ncountersign_channels_share 2\n"))
    }

    @Test("A connection is asked once to say when it ends, however many channels it has, and its channel ends with it")
    func endOfConnections() async throws {
        let server = try await ServerFixture()
        let channels = EventChannels(share: 2, pauseOfReports: .seconds(60))
        let connection = ObjectIdentifier(server)
        let asked = Mutex<[@Sendable () -> Void]>([])
        @Sendable func enter(_ watch: CeremonyWatch) -> EventChannels.Place {
            channels.enter(watch, of: .source("203.0.113.1"), on: connection, logger: Logger(label: "test")) {
                ended in
                asked.withLock { $0.append(ended) }
            }
        }
        try await server.withPublicClient { client in
            let browser = TestBrowser(client)
            let (request, _) = try await server.signInPage(browser, try await server.relyingParty())
            let cookie = try #require(browser.cookies["countersign_browser"])
            let events = try await server.assembly.ceremonies.signIns.events(reference: request, browser: cookie)
            for _ in 0..<100 { channels.leave(enter(events.makeAsyncIterator().watch)) }
            var last = events.makeAsyncIterator()
            let place = enter(last.watch)
            #expect(try await last.next() != nil)
            #expect(asked.withLock { $0.count } == 1)
            for ended in asked.withLock({ $0 }) { ended() }
            #expect(try await last.next() == nil)
            channels.leave(place)
            // Another connection can have the same place in memory.
            channels.leave(enter(events.makeAsyncIterator().watch))
            #expect(asked.withLock { $0.count } == 2)
        }
    }

    @Test("Decision 115: the streams of proven devices count for device, account and all devices, and for no source")
    func devices() async throws {
        let server = try await ServerFixture()
        let channels = EventChannels(
            share: 1, deviceShares: EventChannels.DeviceShares(ofDevice: 2, ofAccount: 3, ofAll: 5),
            pauseOfReports: .seconds(60))
        try await server.withPublicClient { client in
            let browser = TestBrowser(client)
            let (request, _) = try await server.signInPage(browser, try await server.relyingParty())
            let cookie = try #require(browser.cookies["countersign_browser"])
            let events = try await server.assembly.ceremonies.signIns.events(reference: request, browser: cookie)
            func enter(_ owner: EventChannels.Owner) -> (watch: CeremonyWatch, place: EventChannels.Place) {
                let watch = events.makeAsyncIterator().watch
                let place = channels.enter(
                    watch, of: owner, on: ObjectIdentifier(watch), logger: Logger(label: "test"), whenEnded: { _ in })
                return (watch, place)
            }
            func stream(_ device: String, _ account: String) -> (watch: CeremonyWatch, place: EventChannels.Place) {
                enter(.device(id: device, accountID: account))
            }
            let page = enter(.source("203.0.113.1"))
            let (first, second) = (stream("phone", "alice"), stream("phone", "alice"))
            #expect(!first.watch.isReplaced && !page.watch.isReplaced, "a share of one channel")
            let third = stream("phone", "alice")
            #expect(first.watch.isReplaced && !second.watch.isReplaced, "two of a device")
            let tablet = stream("tablet", "alice")
            let watch = stream("watch", "alice")
            #expect(second.watch.isReplaced && !third.watch.isReplaced, "three of an account")
            let others = [stream("b", "bob"), stream("c", "carol")]
            let last = stream("d", "dave")
            #expect(third.watch.isReplaced, "the account with the most streams gives way at the bound of all")
            #expect(!others.contains { $0.watch.isReplaced } && !last.watch.isReplaced)
            #expect(channels.metrics.contains("\ncountersign_device_streams_open 5\n"))
            #expect(channels.metrics.contains("\ncountersign_device_streams_replaced_total 3\n"))
            #expect(channels.metrics.contains("\ncountersign_channels_open 1\n"))
            for entered in [tablet, watch, last] + others { channels.leave(entered.place) }
            // A displaced stream has no place any more.
            for entered in [first, second, third] { channels.leave(entered.place) }
            #expect(channels.metrics.contains("\ncountersign_device_streams_open 0\n"))
            channels.leave(page.place)
        }
    }

    @Test("Channels are counted by the address that a named proxy forwards", .timeLimit(.minutes(10)))
    func forwarded() async throws {
        var limits = Limits()
        limits.channelsPerSource = 1
        let server = try await ServerFixture(
            limits: limits, trustedProxies: [try #require(AddressBlock("127.0.0.0/8"))])
        let application = Application(
            router: server.assembly.publicRouter(), configuration: .init(address: .hostname("127.0.0.1", port: 0)))
        try await application.test(.live) { client in
            let port = try #require(client.port)
            let browser = TestBrowser(client)
            let (request, _) = try await server.signInPage(browser, try await server.relyingParty())
            let cookie = browser.cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
            var sessions: [URLSession] = []
            for (address, open) in [("203.0.113.1", 1), ("203.0.113.2", 2), ("203.0.113.1", 2)] {
                let session = URLSession(configuration: .ephemeral)
                sessions.append(session)
                var channel = URLRequest(
                    url: try #require(
                        URL(string: "http://127.0.0.1:\(port)/sign-in/wait/events?request=\(request)")))
                channel.setValue(cookie, forHTTPHeaderField: "Cookie")
                channel.setValue(address, forHTTPHeaderField: "X-Forwarded-For")
                session.dataTask(with: channel).resume()
                await Self.wait(for: "countersign_channels_open \(open)", server)
            }
            await Self.wait(for: "countersign_channels_lost_total 1", server)
            for session in sessions { session.invalidateAndCancel() }
        }
    }
}
