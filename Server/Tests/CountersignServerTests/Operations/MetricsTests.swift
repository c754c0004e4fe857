import Accounts
import CoreMetrics
import CountersignServer
import CountersignTestKit
import Endpoints
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import Records
import Testing
import _Primitives

@Suite("The server's numbers, as Prometheus reads them")
struct MetricsTests {
    /// What the operations listener says, line by line.
    private func scrape(_ server: ServerFixture) async throws -> [String] {
        let router = server.assembly.operationsRouter(isListening: { true }, assertWritable: {})
        return try await Application(router: router).test(.router) { client in
            let response = try await client.send(.get, "/metrics").response
            #expect(response.headers[.contentType] == "text/plain; version=0.0.4; charset=utf-8")
            return String(buffer: response.body).split(separator: "\n").map(String.init)
        }
    }

    @Test("sign-ins by phone and by session, refusals by their code, and how long requests took")
    func signIns() async throws {
        let server = try await ServerFixture()
        let party = try await server.relyingParty()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let browser = TestBrowser(client)
            try await server.signInTwice(browser, party, phone)
            _ = try await browser.get("/sign-in/wait?request=nobody")
            // Sent back to the service like a sign-in by a session, but with an error.
            let refused = try await TestBrowser(client).get(party.authorizeAddress("&prompt=none"))
            #expect(refused.headers[.location]?.contains("error=login_required") == true)
        }
        let lines = try await self.scrape(server)
        #expect(lines.contains("# TYPE countersign_sign_ins_total counter"))
        #expect(lines.contains(#"countersign_sign_ins_total{by="phone"} 1"#))
        #expect(lines.contains(#"countersign_sign_ins_total{by="session"} 1"#))
        #expect(lines.contains(#"countersign_refusals_total{code="not-found"} 1"#))
        #expect(lines.contains(#"countersign_requests_total{path="/sign-in/wait",method="GET",status="404"} 1"#))
        #expect(lines.contains("# TYPE countersign_request_seconds histogram"))
        #expect(lines.contains(#"countersign_request_seconds_bucket{path="/sign-in/wait",le="+Inf"} 1"#))
        #expect(lines.contains(#"countersign_request_seconds_count{path="/sign-in/wait"} 1"#))
    }

    @Test("No stranger adds a line to them: not by addresses, nor by methods")
    func bounded() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            for number in 0..<20 {
                let method = try #require(HTTPRequest.Method("VERB\(number)"))
                _ = try await client.send(method, "/nowhere/\(number)")
                _ = try await client.send(method, "/oauth2/token")
                _ = try await client.send(.get, "/token/dispatch/targets/\(number)")
            }
        }
        let requests = try await self.scrape(server).filter { $0.hasPrefix("countersign_requests_total{") }
        #expect(!requests.isEmpty && requests.count < 6 && !requests.contains { $0.contains("VERB") }, "\(requests)")
    }

    @Test("What the store took, what it could not do, and what waits for it")
    func store() {
        let metrics = ServerMetrics()
        metrics.stored(StoreMeasurement(.step, step: "test.step", duration: .milliseconds(20), isFailed: false))
        metrics.stored(StoreMeasurement(.step, step: "test.step", duration: .milliseconds(10), isFailed: false))
        metrics.stored(StoreMeasurement(.step, step: "test.step", duration: .seconds(1), isFailed: true))
        metrics.watch(waiting: { (steps: 3, reads: 0) })
        let lines = metrics.registry.text.split(separator: "\n").map(String.init)
        #expect(lines.contains(#"countersign_store_seconds_bucket{work="step",le="0.005"} 0"#))
        #expect(lines.contains(#"countersign_store_seconds_bucket{work="step",le="0.025"} 2"#))
        #expect(lines.contains(#"countersign_store_seconds_sum{work="step"} 1.03"#))
        #expect(lines.contains(#"countersign_store_seconds_count{work="step"} 3"#))
        #expect(lines.contains(#"countersign_store_failures_total{work="step"} 1"#))
        #expect(lines.contains(#"countersign_store_steps_total{step="test.step"} 3"#))
        #expect(lines.contains(#"countersign_store_waiting{work="step"} 3"#))
        #expect(lines.contains(#"countersign_store_waiting{work="read"} 0"#))
    }

    @Test("Steps are counted by their names, and reads are not")
    func stepNames() {
        let metrics = ServerMetrics()
        for name: StaticString in ["test.one", "test.other", "test.one"] {
            metrics.stored(StoreMeasurement(.step, step: name, duration: .zero, isFailed: false))
        }
        metrics.stored(StoreMeasurement(.read, step: nil, duration: .zero, isFailed: false))
        let lines = metrics.registry.text.split(separator: "\n").map(String.init)
        #expect(
            lines.filter { $0.hasPrefix("countersign_store_steps_total") } == [
                #"countersign_store_steps_total{step="test.one"} 2"#,
                #"countersign_store_steps_total{step="test.other"} 1"#,
            ])
    }

    @Test("What mail waits, how many sessions there are, and how old the signing keys are")
    func storeNumbers() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            _ = try await place.askForReset()
            _ = try await PasswordResets(place.server.assembly.passwords).sendLinks()
            let numbers = StoreNumbers(place.server.assembly, logger: Logger(label: "test"))
            _ = try await place.claims(after: try await place.show(PasswordPlace.password, try await place.begin()))
            place.server.clock.advance(by: .seconds(90))
            let running = Task { try await numbers.run() }
            defer { running.cancel() }
            let registry = place.server.assembly.configuration.metrics.registry
            while !registry.text.contains(#"countersign_outbox_waiting{channel="mailbox"} 1"#), !Task.isCancelled {
                await Task.yield()
            }
            let lines = registry.text.split(separator: "\n").map(String.init)
            #expect(lines.contains(#"countersign_outbox_oldest_seconds{channel="mailbox"} 90"#))
            #expect(lines.contains("countersign_sessions 1"))
            #expect(lines.contains(#"countersign_signing_key_age_seconds{algorithm="ES256"} 90"#), "\(lines)")
        }
    }

    @Test(
        "What the machine has: database, disk, certificates, key file, backup and release; what is not there is no number"
    )
    func host() {
        let metrics = ServerMetrics()
        var numbers = HostNumbers(version: "1.2.3")
        numbers.databaseBytes = 4096
        let bare = numbers
        metrics.watch(host: { bare })
        #expect(!metrics.registry.text.contains("countersign_last_backup_age_seconds"))
        numbers.disk = (free: 10, all: 30)
        numbers.certificates = [("public", .seconds(-5)), ("mtls", .seconds(60))]
        numbers.keyFileAge = .seconds(7)
        numbers.backupAge = .seconds(8)
        let full = numbers
        metrics.watch(host: { full })
        let lines = metrics.registry.text.split(separator: "\n").map(String.init)
        for line in [
            #"countersign_build_info{version="1.2.3"} 1"#, "countersign_database_bytes 4096",
            "countersign_disk_free_bytes 10", "countersign_disk_bytes 30",
            #"countersign_certificate_remaining_seconds{listener="public"} -5"#,
            #"countersign_certificate_remaining_seconds{listener="mtls"} 60"#, "countersign_key_file_age_seconds 7",
            "countersign_last_backup_age_seconds 8",
        ] { #expect(lines.contains(line), "\(line)") }
    }

    @Test("A metric is written with its kind, its help once, and the values of its labels")
    func metric() {
        let registry = PrometheusMetrics()
        let answers = Metric<Counter>("a_total", labels: ["path", "status"], "Answers.")
        registry.counter(answers, "/x", "200").increment(by: 2)
        registry.counter(answers, "/x", "404").increment()
        registry.gauge(Metric("b", "Waiting.")).record(3)
        #expect(
            registry.text == """
                # HELP a_total Answers.
                # TYPE a_total counter
                a_total{path="/x",status="200"} 2
                a_total{path="/x",status="404"} 1
                # HELP b Waiting.
                # TYPE b gauge
                b 3

                """)
    }

    @Test("Labels are escaped, and a name has so many sets of them and no more")
    func registry() {
        let registry = PrometheusMetrics()
        Counter(label: "a_total", dimensions: [("l", "x\"\\\ny")], factory: registry).increment(by: 2)
        #expect(registry.text == "# TYPE a_total counter\na_total{l=\"x\\\"\\\\\\ny\"} 2\n")
        for number in 0..<(PrometheusMetrics.seriesPerName + 5) {
            Counter(label: "b_total", dimensions: [("n", String(number))], factory: registry).increment()
        }
        let lines = registry.text.split(separator: "\n").filter { $0.hasPrefix("b_total{") }
        #expect(lines.count == PrometheusMetrics.seriesPerName + 1)
        #expect(lines.contains(#"b_total{n="other"} 5"#))
    }
}
