import Glibc
import ServerClients
import _Primitives

/// Pages that wait for their phones, and what the server keeps in memory for each.
struct WaitingPages {
    /// Channels of one sign-in.
    private static let channels = 8

    private let server: Server
    private let process: ServerProcess
    private let relyingParty: RelyingParty
    private var signIns: [RelyingParty.SignIn] = []
    private var pages: [Held] = []

    init(_ process: ServerProcess, _ relyingParty: RelyingParty) {
        self.server = Server(process)
        self.process = process
        self.relyingParty = relyingParty
    }

    /// Lets this process, and those that it starts, open as many files as the system lets it.
    static func raiseLimit() -> Int {
        var limits = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        limits.rlim_cur = limits.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        return Int(clamping: limits.rlim_cur)
    }

    /// Resident growth for each page from `first` pages to `last`, in KiB; each of them then still gets its events.
    mutating func growth(from first: Int, to last: Int) throws -> Double {
        // What a sign-in costs before anybody waits is not counted.
        var browser = try self.server.connect()
        while self.signIns.count * Self.channels < last {
            self.signIns.append(try self.relyingParty.beginSignIn(on: &browser))
        }
        try self.open(first)
        let before = self.process.residentMebibytes()
        try self.open(last)
        let growth = (self.process.residentMebibytes() - before) * 1024 / Double(last - first)
        var phone = try self.server.connect()
        // One page of each sign-in would do; all of some are told.
        for index in stride(from: 0, to: self.signIns.count, by: 50) {
            _ = try self.server.redeem(self.signIns[index].typedCode, on: &phone)
            for page in self.pages[(index * Self.channels)..<min((index + 1) * Self.channels, last)] {
                try page.connection.wait(for: "\"claimed\"")
            }
        }
        return growth
    }

    private mutating func open(_ count: Int) throws {
        while self.pages.count < count {
            let signIn = self.signIns[self.pages.count / Self.channels]
            let page = Held(try self.server.connect())
            try page.connection.send(
                "GET", signIn.eventsPath, headers: signIn.cookies + ["Accept: text/event-stream", forwardedHeader()],
                body: [])
            try page.connection.wait(for: "\"waiting\"")
            self.pages.append(page)
        }
    }
}

/// A connection that an array can hold.
final class Held {
    var connection: HTTPConnection
    init(_ connection: consuming HTTPConnection) { self.connection = connection }
}
