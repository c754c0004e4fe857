// swift-tools-version: 6.2
import PackageDescription

/// The server, the terminal phone and the example bank, on top of the SDK package in the folder above.

func sdk(_ name: String) -> Target.Dependency { .product(name: name, package: "countersign") }
let protocols = sdk("CountersignProtocols")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let x509: Target.Dependency = .product(name: "X509", package: "swift-certificates")
let log: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let configuration: Target.Dependency = .product(name: "Configuration", package: "swift-configuration")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird")
let hummingbirdTLS: Target.Dependency = .product(name: "HummingbirdTLS", package: "hummingbird")
let hummingbirdTesting: Target.Dependency = .product(name: "HummingbirdTesting", package: "hummingbird")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let httpClient: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client")
let nio: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let system: Target.Dependency = .product(name: "SystemPackage", package: "swift-system")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let sqlite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")
let mustache: Target.Dependency = .product(name: "Mustache", package: "swift-mustache")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")

let package = Package(
    name: "countersign-server",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "countersign", targets: ["CountersignCommand"]),
        .executable(name: "countersign-phone", targets: ["PhoneCommand"]),
        .executable(name: "bank", targets: ["BankCommand"]),
        // For the benchmarks, which are a separate package.
        .library(name: "UAFRelyingParty", targets: ["UAFRelyingParty"]),
        .library(name: "Passwords", targets: ["Passwords"]),
        .library(name: "Secp256k1TestKeys", targets: ["Secp256k1TestKeys"]),
        .library(name: "CeremonyEngine", targets: ["CeremonyEngine", "Store"]),
    ],
    dependencies: [
        .package(name: "countersign", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        // Each package has one trait, the same as in Examples/BackEnd. SwiftPM passes several traits to the compiler in
        // an order that changes from build to build, and after a change compiles everything above the package again.
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: ["YAML"]),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: ["FullFoundation"]),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // C libraries from the system
        .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CZBar", pkgConfig: "zbar", providers: [.apt(["libzbar-dev"])]),
        .systemLibrary(name: "CSecp256k1", pkgConfig: "libsecp256k1", providers: [.apt(["libsecp256k1-dev"])]),
        .systemLibrary(name: "CArgon2", pkgConfig: "libargon2", providers: [.apt(["libargon2-dev"])]),
        .systemLibrary(name: "CSystemClock"),
        .systemLibrary(name: "CCrypt", pkgConfig: "libcrypt", providers: [.apt(["libcrypt-dev"])]),
        .systemLibrary(name: "CSQLiteSettings", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        // Floor 5
        .target(
            name: "UAFRelyingParty", dependencies: [protocols, crypto, cryptoExtras, x509, asn1, "CSecp256k1"],
            resources: [.embedInCode("Metadata")]),
        .target(name: "Store", dependencies: [protocols, crypto]),
        .target(name: "Passwords", dependencies: [protocols, crypto, cryptoExtras, "CArgon2", "CCrypt"]),
        .target(name: "StoreConformance", dependencies: ["Store", protocols, crypto]),
        // Floor 6
        .target(name: "SQLiteStore", dependencies: ["Store", protocols, grdb, sqlite, crypto, "CSQLiteSettings"]),
        // Floor 7
        .target(name: "Pages", dependencies: [protocols, mustache, crypto, "CQREncode", "CZlib"]),
        .target(name: "CeremonyEngine", dependencies: ["Store", "UAFRelyingParty", protocols, crypto]),
        .target(name: "OAuthProvider", dependencies: ["Store", protocols, crypto]),
        .target(name: "Accounts", dependencies: ["Store", "Passwords", protocols]),
        // Floor 8
        .target(
            name: "CountersignServer",
            dependencies: [
                "Pages", "CeremonyEngine", "OAuthProvider", "Accounts", "Passwords", "Store", "UAFRelyingParty",
                protocols, hummingbird, httpTypes, lifecycle, log, metrics, nio, crypto,
            ]),
        // Floor 9
        .executableTarget(
            name: "CountersignCommand",
            dependencies: [
                "CountersignServer", "CeremonyEngine", "OAuthProvider", "Accounts", "Pages", "Passwords", "SQLiteStore",
                "Store", "UAFRelyingParty", protocols, arguments, configuration, hummingbird, hummingbirdCore,
                hummingbirdTLS,
                httpClient,
                lifecycle, log, metrics, nio, nioHTTP1, nioSSL, system, unixSignals, x509, asn1, crypto, cryptoExtras,
                "CSystemClock",
            ]),
        .executableTarget(
            name: "PhoneCommand",
            dependencies: [
                sdk("Countersign"), sdk("CountersignLinux"), "Pages", protocols, arguments, httpClient, nio, nioHTTP1,
                nioSSL, "CZBar", "CPNG",
            ]),
        .executableTarget(
            name: "BankCommand",
            dependencies: [
                arguments, hummingbird, hummingbirdTLS, httpTypes, httpClient, lifecycle, log, nio, nioHTTP1, nioSSL,
                crypto,
            ]),

        // Private keys on secp256k1. No program of this product makes such keys.
        .target(
            name: "Secp256k1TestKeys", dependencies: [protocols, crypto, "CSecp256k1"], path: "Tests/Secp256k1TestKeys"),
        .testTarget(
            name: "UAFRelyingPartyTests",
            dependencies: [
                "UAFRelyingParty", "Secp256k1TestKeys", protocols, sdk("CountersignTestKit"), crypto, cryptoExtras,
                x509,
                asn1,
            ]),
        .testTarget(name: "PasswordsTests", dependencies: ["Passwords", protocols, crypto]),
        // New stores with a schema that is made once.
        .target(name: "FreshStores", dependencies: ["SQLiteStore", "Store", grdb], path: "Tests/FreshStores"),
        .testTarget(
            name: "SQLiteStoreTests",
            dependencies: ["FreshStores", "SQLiteStore", "StoreConformance", "Store", protocols, crypto, grdb]),
        .testTarget(
            name: "CeremonyEngineTests",
            dependencies: [
                "CeremonyEngine", "Accounts", "FreshStores", "SQLiteStore", "Store", "StoreConformance",
                "UAFRelyingParty",
                "Secp256k1TestKeys", protocols,
                sdk("CountersignTestKit"), crypto, sqlite,
            ]),
        .testTarget(
            name: "AccountsTests",
            dependencies: ["Accounts", "FreshStores", "Passwords", "SQLiteStore", "Store", protocols]),
        .testTarget(
            name: "OAuthProviderTests",
            dependencies: ["OAuthProvider", "FreshStores", "SQLiteStore", "Store", protocols, crypto]),
        .testTarget(name: "PagesTests", dependencies: ["Pages", "CPNG", "CZBar", protocols]),
        // The listings of the identities' documentation. The SDK's package tries the same listings without a server.
        .target(
            name: "SeedListing",
            dependencies: [sdk("Countersign"), sdk("CountersignNames"), sdk("CountersignTestKit"), protocols],
            path: "Tests/SeedListing", swiftSettings: [.unsafeFlags(["-suppress-warnings"])]),
        .testTarget(
            name: "CountersignServerTests",
            dependencies: [
                "SeedListing",
                "CountersignServer", "CeremonyEngine", "FreshStores", "OAuthProvider", "Accounts", "Pages", "Passwords",
                "SQLiteStore", "Store", "UAFRelyingParty", "PhoneCommand", protocols, sdk("Countersign"),
                sdk("CountersignBackend"), sdk("CountersignLinux"), sdk("CountersignTestKit"),
                hummingbird,
                hummingbirdTLS, hummingbirdTesting, httpTypes, crypto, cryptoExtras, log, metrics, nio, nioSSL, x509,
                asn1, grdb,
            ]),
        // Reported bugs of other products, each tried here with the means of the server's tests.
        .testTarget(
            name: "PublicReports",
            dependencies: [
                "CountersignServerTests", "CountersignCommandTests", "CountersignCommand", "CountersignServer",
                "CeremonyEngine", "OAuthProvider", "Accounts", "Passwords", "SQLiteStore", "Store", protocols,
                sdk("Countersign"), sdk("CountersignTestKit"), hummingbird, hummingbirdTesting, httpTypes, crypto, log,
                nio,
            ]),
        .testTarget(
            name: "BankCommandTests",
            dependencies: ["BankCommand", hummingbird, hummingbirdTesting, httpTypes, arguments, log, nio, crypto]),
        .testTarget(
            name: "PhoneCommandTests", dependencies: ["PhoneCommand", sdk("Countersign"), protocols, arguments]),
        .testTarget(
            name: "CountersignCommandTests",
            dependencies: [
                "CountersignCommand", "CountersignServer", "CeremonyEngine", "OAuthProvider", "Accounts", "SQLiteStore",
                "UAFRelyingParty",
                "Store",
                protocols, sdk("CountersignTestKit"), arguments, hummingbird, hummingbirdTesting, httpTypes, crypto,
                lifecycle, log, metrics, hummingbirdTLS, httpClient, nio, nioHTTP1, nioEmbedded, nioSSL, x509, asn1,
            ]),
        // The fuzz targets' code for data that only the server judges.
        .testTarget(
            name: "ServerFuzzReplayTests",
            dependencies: [
                "UAFRelyingParty", "CeremonyEngine", "Store", "Passwords", protocols, sdk("CountersignTestKit"),
                nioHTTP1,
            ]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.type != .system && target.name != "SeedListing" {
    target.swiftSettings = [
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("ExistentialAny"),
        .treatAllWarnings(as: .error),
    ]
}
